"""`dehusk worker` with the source of `hostile_source.py`: a program of the tests alone."""

from hostile_source import HostileSource

from dehusk.streams.cli import worker
from dehusk.streams.worker import run
from dehusk.streams.worker.run import run_worker

if __name__ == "__main__":
    run.run_worker = lambda settings: run_worker(settings, HostileSource)
    worker.command(auto_envvar_prefix="DEHUSK_WORKER")
