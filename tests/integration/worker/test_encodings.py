"""Models that read different encodings of a page, swapped on Triton while a worker runs."""

import orjson


async def test_models_that_read_different_encodings_take_over_while_a_worker_runs(
    bench, site, own_triton
) -> None:
    records = site(120)
    worker = bench.worker("--labeler", "triton", "--triton", own_triton.stack.addresses.triton_grpc)
    await bench.until(worker.has_partitions)
    await bench.produce(records[:30])
    await bench.until_done()
    await bench.produce(records[30:60])
    await own_triton.swap("web2text", "2")
    await bench.produce(records[60:90])
    await bench.until_done()
    await own_triton.swap("dehusk", "3")
    await bench.produce(records[90:])
    await bench.until_done()
    versions = {
        message.key: orjson.loads(message.value)["model"]["version"] for message in await bench.documents()
    }
    assert not await bench.dead_letters()
    parts = (records[:30], records[60:90], records[90:])
    assert [{versions[record.key] for record in part} for part in parts] == [{"1"}, {"2"}, {"3"}]
    assert {versions[record.key] for record in records[30:60]} <= {"1", "2"}
    assert worker.starts == 1
