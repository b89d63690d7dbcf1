"""Commands of `dehusk model` for versions: those on disk and on Triton, checks, additions, removals."""

from pathlib import Path

import click

from dehusk.streams.cli.model.options import (
    NOT_TO_BE_SERVED,
    Checks,
    Sources,
    check_options,
    source_options,
    workers_option,
)
from dehusk.streams.cli.model.rollout import command
from dehusk.streams.cli.shared.options import json_option, number_option, yes_option


@command.command(
    name="list",
    short_help="List models and versions on disk and on Triton.",
    epilog="""\b
Examples:
  dehusk model list --control-topic dehusk-control
  dehusk model list --without-triton --model-repository /srv/models
  dehusk model list --json | jq -r '.versions[] | select(.is_default) | .version'""",
)
@source_options("Show which versions the roll-outs on this topic name, too.")
@json_option()
def list_command(*, sources: Sources, as_json: bool) -> None:
    """List the versions on disk and on Triton: state, signature, size and hash.

    `default` is the trusted version: workers get it that name none. It is the newest that is served, until a
    roll-out names another one. Workers that follow a control topic name theirs: --control-topic shows which.
    If Triton or the repository cannot be reached, the other one is listed, a message says which is missing
    and why, and the command ends with status 1; --without-triton asks for the repository alone. Status 3 says
    that a version cannot be loaded or read.
    """
    from dehusk.streams.cli.model.model_actions import list_versions

    raise SystemExit(NOT_TO_BE_SERVED if list_versions(sources, as_json=as_json) else 0)


@command.command(
    name="show",
    short_help="Show a version: card, tensors, statistics.",
    epilog="""\b
Examples:
  dehusk model show dehusk
  dehusk model show dehusk/13 --json | jq .statistics
  dehusk model show dehusk/13 --control-topic dehusk-control""",
)
@click.argument("name", metavar="MODEL[/VERSION]")
@source_options("Show what the workers that follow this topic have seen, too.", workers_option)
@number_option(
    "--trials", default=3, help="Trials of the version that have ended and are shown, with --control-topic."
)
@json_option()
def show_command(*, name: str, sources: Sources, group: str, trials: int, as_json: bool) -> None:
    """Show what is known of a version; without VERSION, of the default one.

    From the repository its card, signature, tensors, size, SHA-256 and golden pages, from Triton its state,
    requests, failures, times and mean batch size since it was loaded. With --control-topic, what workers have
    seen of the versions that label, what differs between those on trial and the trusted one, with the latest
    blocks that are decided otherwise, and the same of the version's last trials that have ended.

    If Triton or the repository cannot be reached, what the other one has is shown, a message says which is
    missing and why, and the command ends with status 1; --without-triton asks the repository alone.
    """
    from dehusk.streams.cli.model.model_actions import show_version

    show_version(name, sources, group, trials=trials, as_json=as_json)


@command.command(
    name="verify",
    short_help="Check a version before it is served.",
    epilog="""\b
Examples:
  dehusk model verify run/8
  dehusk model verify dehusk/13 --triton triton:8001
  dehusk model verify run/8 --labeler onnx --json || echo "status $?\"""",
)
@click.argument("what", metavar="DIR|FILE|MODEL/VERSION")
@check_options
@json_option()
def verify_command(*, what: str, checks: Checks, as_json: bool) -> None:
    """Check a version without touching what is served.

    A directory holds model.onnx and golden.json, and may hold card.md and config.pbtxt; a file has its
    golden.json beside it. The version is sent to Triton under a temporary name, and unloaded at the end. It
    must have a signature that workers speak and its tensors, answer the golden pages as it was trained, with
    probabilities, and give a page the same answer alone and in a batch. Its latency is shown beside that of
    the default version. Ends with status 3 and the name of the reason if it is not to be served.
    """
    from dehusk.streams.cli.model.model_actions import verify_version

    verify_version(what, checks, as_json=as_json)


@command.command(
    name="add",
    short_help="Verify a version and put it into the repository.",
    epilog="""\b
Examples:
  dehusk model add run/8 --model-repository /srv/models
  dehusk model add model.onnx --version 14 --labeler onnx""",
)
@click.argument("place", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--version", metavar="NUMBER", help="Its number; by default the next one of its model.")
@click.option(
    "--hold",
    is_flag=True,
    help="Before, write the version that is served by now into version_policy, so that the new one is not "
    "served by a load or restart, but only when it is named there.",
)
@click.option(
    "--load",
    is_flag=True,
    help="Have Triton load the model: then the new version answers, where version_policy names none.",
)
@click.option("--no-verify", is_flag=True, help="Add it unchecked.")
@check_options
@yes_option
@json_option()
def add_command(
    *,
    place: Path,
    version: str | None,
    hold: bool,
    load: bool,
    no_verify: bool,
    checks: Checks,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy a version into the repository, verified, under a number that is new.

    The copy becomes a directory of its model at once, when it is complete, on disk and verified; one that
    fails never does, and nothing that is there is written over. A new model takes config.pbtxt from beside
    its model file. Prints how to serve the version next.
    """
    from dehusk.streams.cli.model.model_actions import add

    if hold and load:
        raise click.UsageError("--hold keeps a version from being served, and --load serves it: give one")
    add(place, version, checks, hold=hold, load=load, is_verified=not no_verify, yes=yes, as_json=as_json)


@command.command(
    name="remove",
    short_help="Delete a version that is not served.",
    epilog="""\b
Examples:
  dehusk model remove dehusk/9
  dehusk model remove dehusk/9 --without-triton --yes
  dehusk model remove dehusk/13 --control-topic dehusk-control""",
)
@click.argument("name", metavar="MODEL/VERSION")
@source_options(
    "Refuse a version that a state on this topic names or goes back to; have Triton serve the others first."
)
@yes_option
@json_option()
def remove_command(*, name: str, sources: Sources, yes: bool, as_json: bool) -> None:
    """Delete a version from the repository; refuses the default one and the only one.

    If Triton serves it beside another version, Triton loads the model, which unloads it: workers that name
    it with --model-version stop then. With --control-topic, a version that roll-outs are done with is taken
    out of version_policy first, also if it is the newest one, and one that they need is refused.
    """
    from dehusk.streams.cli.model.model_actions import remove

    remove(sources, name, yes=yes, as_json=as_json)


@command.command(
    name="repair",
    short_help="Take versions that do not serve out of the policy.",
    epilog="""\b
Examples:
  dehusk model repair dehusk --control-topic dehusk-control
  dehusk model repair dehusk --without-triton     where Triton does not start
  dehusk model repair dehusk --yes --json | jq .taken_out""",
)
@click.argument("name", metavar="MODEL")
@source_options(
    "Take out what no roll-out on this topic needs, too; go by the version that serves in the group.",
    workers_option,
)
@yes_option
@json_option()
def repair_command(*, name: str, sources: Sources, group: str, yes: bool, as_json: bool) -> None:
    """Have the version policy of MODEL name versions that serve, and Triton serve those.

    What Triton serves stays. What the policy names beside that is verified, and taken out if it is not to be
    served, so that Triton starts again. With --control-topic, what no roll-out needs goes as well: versions
    that were taken back, and what commands that were killed have left. If the trusted version goes, or serves
    in no group any more, the one that serves in the group takes its place. No version is deleted.
    """
    from dehusk.streams.cli.model.model_actions import repair

    repair(sources, name, group, yes=yes, as_json=as_json)
