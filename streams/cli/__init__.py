"""The `dehusk` command."""

import errno
import sys
from importlib import import_module

import click

from schemas.errors import DehuskError
from streams.cli.interrupts import interrupt_on_signals, interrupted_status
from streams.cli.standard_input import leave

_COMMANDS = {
    "worker": "Clean the pages of a Kafka topic while the crawl runs.",
    "probe": "Look at a topic before attaching to it.",
    "up": "Start Kafka, Redis and Triton on this machine.",
    "feed": "Put pages from files on the input topic.",
    "read": "Print the documents of the output topic.",
    "clean": "Clean pages offline, JSON lines in, JSON lines out.",
    "dead-letters": "List or replay pages that could not be cleaned.",
    "demo": "Crawl a real site and clean it while it is crawled.",
}
_FULL = {errno.ENOSPC, errno.EDQUOT}
"""Errors of an output that has no room."""


class _LazyGroup(click.Group):
    """A group that imports a command's module when it is asked for, so that `--help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 click's
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"streams.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click's
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_LazyGroup, context_settings={"auto_envvar_prefix": "DEHUSK", "help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="dehusk")
def cli() -> None:
    """Strip the husk off every page of a running crawl: Kafka in, cleaned documents out.

    Every option is also an environment variable, named after its command and itself:
    `dehusk worker --brokers` is DEHUSK_WORKER_BROKERS.
    """


def main() -> None:
    """Run the command line; errors that dehusk raises on purpose end with their message and status 1."""
    interrupt_on_signals()
    try:
        sys.exit(cli(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort as aborted:
        if not isinstance(aborted.__cause__, KeyboardInterrupt):
            raise  # click says it of files that end early, too
        sys.exit(interrupted_status())
    except DehuskError as error:
        raise SystemExit(f"dehusk: {error}") from error
    except OSError as error:
        if error.errno not in _FULL:
            raise
        sys.stderr.write(f"dehusk: cannot write the output: {error.strerror}\n")
        leave(1)
