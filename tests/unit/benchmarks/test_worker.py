"""Samples of a worker's stacks are counted by the part that each belongs to."""

from benchmarks import worker

_OWN = 'process 7:"dehusk worker --monitoring (a);b";main (dehusk/streams/__main__.py:9)'
_PAGES = f'{_OWN};process 8:"python -c main";_serve (dehusk/streams/preparation/process.py:250)'
_SAMPLES = f"""\
{_OWN};Sender.do (aiokafka/producer/sender.py:400);_SelectorSocketTransport.write (asyncio/events.py:9) 5
{_OWN};WorkerThread.run (mode/threads.py:9);StreamReader.readexactly (asyncio/streams.py:7) 3
{_OWN};BaseEventLoop._run_once (asyncio/base_events.py:9);EpollSelector.select (selectors.py:468) 70
{_OWN};to_parts (dehusk/streams/preparation/channel.py:50) 2
{_OWN};Runner.run (asyncio/runners.py:118) 1
{_PAGES};Preparer.prepare_message (dehusk/streams/preparation/steps.py:117) 11
{_PAGES};Preparer.prepare_message (dehusk/streams/preparation/steps.py:117);pack (dehusk/streams/steps.py:9) 4
{_PAGES};_peak_memory (dehusk/streams/preparation/process.py:331) 40
{_PAGES} 1
{_OWN};Channel.receive_head (dehusk/streams/preparation/channel.py:95);Channel._read (dehusk/x.py:1) 50
process 9:"no frames" 6
"""


def test_samples_are_counted_by_part_without_those_of_waiting() -> None:
    own, of_pages = worker.read(_SAMPLES)
    assert own == {
        "Kafka, writing": 5,
        "Kafka, reading and acknowledging": 3,
        "pickling of jobs and answers": 2,
        "flow of batches": 1,
    }
    assert of_pages == {
        "decode, segment, encode": 11,
        "packing of prepared pages": 4,
        "limits and the rest": 1,
    }
