"""The file of labels: what was saved stays, whatever happens."""

import codecs
import errno
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError, ConflictError
from dehusk.schemas.page_labels import Misfit, PageLabels
from dehusk.streams.labeling.labels_file import (
    labels_line,
    open_labels_file,
    read_labels_file,
    refuse_misfits,
)

LABELS = PageLabels(
    id="a",
    url="https://example.org/a",
    html_hash="0" * 32,
    blocks_hash="f" * 32,
    labels=(1, 0, None),
    labeled_at=datetime(2026, 11, 23, 3, 30, tzinfo=UTC),
)
OTHER = replace(LABELS, id="ä\nb", url=None, labels=(0,))
LINE = {
    "id": "a",
    "url": "https://example.org/a",
    "html_hash": "0" * 32,
    "blocks_hash": "f" * 32,
    "labels": [1, 0, None],
    "labeled_at": "2026-11-23T03:30:00Z",
    "text_hashes": [],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def write(path: Path, *pages: PageLabels) -> None:
    with open_labels_file(path) as file:
        for page in pages:
            file.save(page)


def test_a_line_is_as_the_format_says(path: Path) -> None:
    write(path, LABELS)
    assert path.read_bytes() == json.dumps(LINE, separators=(",", ":")).encode() + b"\n"


def test_the_last_labels_of_each_page_are_read(path: Path) -> None:
    write(path, LABELS, OTHER)
    write(path, replace(LABELS, labels=(1, 0, 0)))
    assert read_labels_file(path) == {OTHER.id: OTHER, "a": replace(LABELS, labels=(1, 0, 0))}
    assert path.read_bytes().count(b"\n") == 3


def test_saving_keeps_what_there_is_at_hand(path: Path) -> None:
    write(path, OTHER)
    with open_labels_file(path) as file:
        file.save(LABELS)
        assert file.labels == {OTHER.id: OTHER, "a": LABELS}


def test_a_page_whose_labels_were_all_taken_back_has_none(path: Path) -> None:
    write(path, LABELS, replace(LABELS, labels=(None, None, None)))
    assert read_labels_file(path) == {}


def test_times_are_written_in_utc(path: Path) -> None:
    local = datetime(2026, 11, 23, 4, 30, 0, 7, tzinfo=timezone(timedelta(hours=1)))
    write(path, replace(LABELS, labeled_at=local))
    assert read_labels_file(path) == {"a": LABELS}


def test_labels_are_on_the_disk_before_they_are_saved(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    with open_labels_file(path) as file:
        write_, sync = os.write, os.fsync
        monkeypatch.setattr(os, "write", lambda *given: (done.append("write"), write_(*given))[1])
        monkeypatch.setattr(os, "fsync", lambda given: (done.append("fsync"), sync(given))[1])
        file.save(LABELS)
    assert done == ["write", "fsync"]


def test_writes_that_take_part_of_a_line_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ = os.write
    with open_labels_file(path) as file:
        monkeypatch.setattr(os, "write", lambda opened, data: write_(opened, bytes(data)[:7]))
        file.save(LABELS)
    assert read_labels_file(path) == {"a": LABELS}


@pytest.mark.parametrize("cut", [1, 20, 100])
def test_a_torn_last_line_is_kept_aside(path: Path, cut: int) -> None:
    write(path, OTHER)
    whole = path.read_bytes()
    write(path, LABELS)
    torn = path.read_bytes()[len(whole) : -1 - cut]
    path.write_bytes(whole + torn)
    assert read_labels_file(path) == {OTHER.id: OTHER}
    assert path.read_bytes() == whole + torn
    with open_labels_file(path) as file:
        assert file.labels == {OTHER.id: OTHER}
        assert file.set_aside == path.with_name("labels.jsonl.torn")
        file.save(replace(LABELS, labels=(0, 0, 0)))
    assert path.with_name("labels.jsonl.torn").read_bytes() == torn + b"\n"
    assert read_labels_file(path) == {OTHER.id: OTHER, "a": replace(LABELS, labels=(0, 0, 0))}


def test_torn_lines_of_several_crashes_are_all_kept(path: Path) -> None:
    for torn in (b'{"id', b'{"id":"b'):
        path.write_bytes(torn)
        write(path)
    assert path.with_name("labels.jsonl.torn").read_bytes() == b'{"id\n{"id":"b\n'


def test_a_whole_last_line_without_its_break_is_kept(path: Path) -> None:
    write(path, OTHER)
    path.write_bytes(path.read_bytes()[:-1])
    with open_labels_file(path) as file:
        assert file.set_aside is None
        file.save(LABELS)
    assert read_labels_file(path) == {OTHER.id: OTHER, "a": LABELS}


def test_a_byte_order_mark_tears_no_line(path: Path) -> None:
    path.write_bytes(codecs.BOM_UTF8 + labels_line(OTHER).rstrip())
    with open_labels_file(path) as file:
        assert (file.set_aside, file.labels) == (None, {OTHER.id: OTHER})


def test_labels_are_written_to_files_alone(path: Path) -> None:
    os.mkfifo(path)
    for name in (path, Path("/dev/null")):
        with pytest.raises(ConfigurationError, match="is no regular file"):
            write(name)


def test_one_program_writes_at_a_time(path: Path) -> None:
    with open_labels_file(path) as file:
        with (
            pytest.raises(ConflictError, match=r"labels\.jsonl is open"),
            open_labels_file(path),
        ):
            pass
        file.save(LABELS)
    write(path, OTHER)
    assert set(read_labels_file(path)) == {"a", OTHER.id}


def test_nothing_is_saved_to_a_file_that_is_gone_or_replaced(path: Path) -> None:
    with open_labels_file(path) as file:
        moved = path.rename(path.with_name("moved"))
        with pytest.raises(ConflictError, match="is gone"):
            file.save(LABELS)
        path.write_bytes(b"")
        with pytest.raises(ConflictError, match="was replaced"):
            file.save(LABELS)
        moved.rename(path)
        file.save(LABELS)
    assert read_labels_file(path) == {"a": LABELS}


def test_what_others_write_meanwhile_is_not_passed_over(path: Path) -> None:
    with open_labels_file(path) as file:
        file.save(LABELS)
        path.write_bytes(b"")
        with pytest.raises(ConflictError, match="was changed"):
            file.save(OTHER)


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ = os.write

    def fill(opened: int, data: memoryview) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_(opened, bytes(data)[:-10])

    with open_labels_file(path) as file:
        file.save(LABELS)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", fill)
            with pytest.raises(ConfigurationError, match=r"cannot write .*labels\.jsonl: No space left"):
                file.save(OTHER)
        assert file.labels == {"a": LABELS}
        file.save(OTHER)
    assert read_labels_file(path) == {"a": LABELS, OTHER.id: OTHER}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is no JSON, or torn"),
        ("[]", "Expected `object`"),
        ({"id": None}, r"\$\.id"),
        ({"url": 7}, r"\$\.url"),
        ({"html_hash": "0" * 31}, r"\$\.html_hash"),
        ({"blocks_hash": "G" * 32}, r"\$\.blocks_hash"),
        ({"labels": None}, r"\$\.labels"),
        ({"labels": [1, 2]}, r"\$\.labels"),
        ({"labels": [True]}, r"\$\.labels"),
        ({"labels": [1.0]}, r"\$\.labels"),
        ({"labels": [[]]}, r"\$\.labels"),
        ({"labeled_at": "2026-11-23T03:30:00"}, r"timezone .*\$\.labeled_at"),
        ({"labeled_at": "yesterday"}, "yesterday"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_written(
    path: Path, line: str | dict[str, object], message: str
) -> None:
    malformed = line if isinstance(line, str) else json.dumps({**LINE, **line})
    path.write_text(f"{json.dumps(LINE)}\n\n{malformed}\n")
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=rf"^line 3 of .*labels\.jsonl.*{message}"):
        read_labels_file(path)
    with pytest.raises(ConfigurationError, match=r"^line 3 of"), open_labels_file(path):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", sorted(LINE.keys() - {"text_hashes"}))
def test_a_missing_field_is_named(path: Path, name: str) -> None:
    path.write_text(json.dumps({each: value for each, value in LINE.items() if each != name}))
    with pytest.raises(ConfigurationError, match=f"^line 1 of .*`{name}`"):
        read_labels_file(path)


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*none\.jsonl: No such file"):
        read_labels_file(tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match=r"cannot write .*: Is a directory"):
        write(tmp_path)
    with pytest.raises(ConfigurationError, match=r"cannot write .*: No such file"):
        write(tmp_path / "none" / "labels.jsonl")


def test_misfits_are_named_with_their_pages(path: Path) -> None:
    refuse_misfits({}, path)
    misfits = {f"p{number}": Misfit.HALF_LABELED for number in range(22)} | {"x": Misfit.CHANGED_PAGE}
    with pytest.raises(ConfigurationError) as raised:
        refuse_misfits(misfits, path)
    said = str(raised.value)
    assert "changed-page (1: their HTML is not the HTML that was labeled): x;" in said
    assert "half-labeled (22: not all of their blocks are labeled): p0, p1," in said
    assert said.endswith("p19 and 2 more")


def test_lines_of_earlier_versions_have_no_hashes_of_texts(path: Path) -> None:
    path.write_text(json.dumps({name: value for name, value in LINE.items() if name != "text_hashes"}))
    assert read_labels_file(path) == {"a": LABELS}
