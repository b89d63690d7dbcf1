"""What the demo says while it runs, where there is no terminal."""

import io

from rich.console import Console

from dehusk.streams.demo.display import Display


def said(*told: tuple[str, ...]) -> list[str]:
    console = Console(file=io.StringIO(), width=40)
    with Display(console) as display:
        for name, *text in told:
            getattr(display, name)(*text)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_milestones_are_lines_that_nothing_breaks() -> None:
    assert said(("milestone", "x" * 100)) == ["x" * 100]


def test_of_a_service_only_its_readiness_stays() -> None:
    assert said(("service", "kafka", "starting"), ("service", "kafka", "ready")) == ["kafka is ready"]


def test_progress_is_told_now_and_then() -> None:
    assert said(("progress", "1 page"), ("progress", "2 pages")) == ["1 page"]
