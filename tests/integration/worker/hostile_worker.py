"""`dehusk worker` with the source of `hostile_source.py`: a program of the tests alone."""

from hostile_source import HostileSource

from dehusk.streams.cli import worker
from dehusk.streams.worker import run

if __name__ == "__main__":
    run.open_source = HostileSource
    worker.command(auto_envvar_prefix="DEHUSK_WORKER")
