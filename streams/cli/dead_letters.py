"""`dehusk dead-letters`: what could not be cleaned, and another try."""

from __future__ import annotations

import asyncio
import heapq
import re
from collections import Counter
from contextlib import aclosing
from dataclasses import asdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.cli.shared.kafka_options import compression_option, kafka_options, topic_option
from dehusk.streams.cli.shared.options import gathered_options, json_option
from dehusk.streams.cli.shared.terminal import plain_console, print_object, print_table
from dehusk.streams.settings import Compression, KafkaSettings, TopicSettings
from dehusk.streams.wording import pluralize, printable

if TYPE_CHECKING:
    from datetime import datetime

    from dehusk.streams.topics.replay import FoundLetter, LetterFilter

_COLUMNS = ("failed at (UTC)", "reason", "URL", "detail", "source")
_OWN_REASON = re.compile(r"[a-z-]+")
"""Form of dehusk's reasons; other programs give the class of an exception, with dots or capitals."""


def _checked_reason(_context: click.Context, _option: click.Parameter, reason: str | None) -> str | None:
    if reason is None or reason in set(BrokenReason) or not _OWN_REASON.fullmatch(reason):
        return reason
    near = get_close_matches(reason, BrokenReason, 3)
    reasons = ", ".join([*near, *(each for each in BrokenReason if each not in near)])
    raise click.BadParameter(
        f"{reason!r} is none of these: {reasons}; nor the class of another program's error"
    )


def _selection(*, reason: str | None, stage: str | None, url: str | None) -> LetterFilter:
    from dehusk.streams.topics.replay import LetterFilter

    return LetterFilter(reason, stage, url)


_selection_options = gathered_options(
    "selection",
    _selection,
    topic_option("--topic", default=TopicSettings().dead_letters, help="The dead-letter topic."),
    click.option(
        "--reason",
        metavar="REASON",
        callback=_checked_reason,
        help=f"Only this reason: {', '.join(BrokenReason)}, or another program's.",
    ),
    click.option("--stage", metavar="STAGE", help="Only what failed in this step, e.g. prepare."),
    click.option("--url", metavar="TEXT", help="Only pages whose URL holds this text."),
    click.option("--all", "settled_too", is_flag=True, help="Also those that were put back already."),
)
"""Options that select letters; they reach the command as `topic`, `settled_too` and `selection`."""


@click.group(name="dead-letters")
def command() -> None:
    """List or replay pages that could not be cleaned.

    Messages that cannot be cleaned go to the dead-letter topic as they were, with the reason in headers
    (`__connect.errors.*`, which Kafka's tools know, and `dehusk.*`).
    """


@command.command(
    name="list",
    short_help="Show dead letters, and how many each reason has.",
    epilog="""\b
Examples:
  dehusk dead-letters list --limit 20
  dehusk dead-letters list --reason page-too-large --url example.org
  dehusk dead-letters list --json | jq -r .url""",
)
@kafka_options
@_selection_options
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Most letters to show, the latest ones; all are counted.",
)
@json_option("All of them, one JSON object per line.")
def list_command(
    *,
    kafka: KafkaSettings,
    topic: str,
    selection: LetterFilter,
    settled_too: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show the dead letters that are yet to be dealt with, and how many each reason has.

    Letters stay on their topic until its retention removes them; those that were put back are marked there,
    and shown with --all only.
    """
    show = _print_json if as_json else _print_table
    asyncio.run(show(kafka, topic, selection, limit, settled_too))


@command.command(
    name="replay",
    short_help="Put dead letters back on their topic.",
    epilog="""\b
Examples:
  dehusk dead-letters replay --dry-run                     how many there are
  dehusk dead-letters replay --reason process-crashed      try these again
  dehusk dead-letters replay --url example.org --limit 10""",
)
@kafka_options
@_selection_options
@click.option("--limit", type=click.IntRange(min=1), help="Most letters to put back.")
@click.option(
    "--most-replays",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Leave what was replayed so often already: it will fail again.",
)
@compression_option
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
def replay_command(
    *,
    kafka: KafkaSettings,
    topic: str,
    selection: LetterFilter,
    settled_too: bool,
    limit: int | None,
    most_replays: int,
    compression: Compression,
    dry_run: bool,
) -> None:
    """Put each dead letter back on the topic that it comes from, for another try.

    Each gets its original key, value and headers, and a header that counts its replays. Letters stay on the
    dead-letter topic and are marked there at the end, so that the next replay leaves them; a replay that was
    cut short marks none, and the next one puts them back again, which gives the same documents. Letters that
    come in meanwhile wait for the next replay. Ends with status 1 if one that was meant cannot be put back.
    """
    from dehusk.streams.topics.replay import SETTLED, replay_letters

    counts = asyncio.run(
        replay_letters(
            kafka,
            topic,
            selection,
            limit=limit,
            most_replays=most_replays,
            again=settled_too,
            dry_run=dry_run,
            compression=compression,
        )
    )
    click.echo(f"{counts.replayed:,} {'would be put' if dry_run else 'put'} back")
    for obstacle, count in counts.kept.most_common():
        click.echo(f"{count:,} left: {obstacle}")
    raise SystemExit(1 if counts.kept.keys() - SETTLED else 0)


async def _print_json(
    kafka: KafkaSettings, topic: str, selection: LetterFilter, _limit: int, settled_too: bool
) -> None:
    from dehusk.streams.topics.replay import find_letters

    async with aclosing(find_letters(kafka, topic, selection)) as letters:
        async for entry in letters:
            if settled_too or not entry.settled:
                print_object(_fields(entry))


def _fields(entry: FoundLetter) -> dict[str, Any]:
    letter = entry.letter
    return {
        "reason": letter.reason,
        "stage": letter.stage,
        "url": letter.url,
        "detail": letter.detail,
        "failed_at": entry.failed_at,
        "source": asdict(letter.origin),
        "dead_letter": asdict(entry.location),
        "bytes": len(letter.original.value or b""),
        "replays": letter.replays,
        "settled": entry.settled,
    }


async def _print_table(
    kafka: KafkaSettings, topic: str, selection: LetterFilter, limit: int, settled_too: bool
) -> None:
    from dehusk.streams.topics.replay import find_letters

    reasons: Counter[tuple[str, str]] = Counter()
    last: list[tuple[datetime, int, tuple[str, ...]]] = []
    settled = 0
    async for entry in find_letters(kafka, topic, selection):
        if entry.settled and not settled_too:
            settled += 1
            continue
        reasons[entry.letter.stage, entry.letter.reason] += 1
        heapq.heappush(last, (entry.failed_at, reasons.total(), _row(entry)))
        if len(last) > limit:
            heapq.heappop(last)
    console = plain_console()
    if last:
        print_table(console, _COLUMNS, [row for _, _, row in sorted(last)])
    for (stage, reason), count in reasons.most_common():
        console.print(printable(f"{count:,} {reason} ({stage})"))
    console.print(f"{pluralize(reasons.total(), 'dead letter')} on {topic}")
    if settled:
        console.print(f"{settled:,} more were put back already; --all shows them too")


def _row(entry: FoundLetter) -> tuple[str, ...]:
    letter = entry.letter
    texts = (letter.reason, letter.url or "", letter.detail, str(letter.origin))
    return (f"{entry.failed_at:%Y-%m-%d %H:%M:%S}", *map(printable, texts))
