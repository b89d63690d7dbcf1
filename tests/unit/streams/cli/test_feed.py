"""`dehusk feed`: what is wrong before anything is read or sent."""

from click.testing import CliRunner

from streams.cli import cli


def test_messages_that_point_to_archives_need_a_directory_for_them() -> None:
    result = CliRunner().invoke(cli, ["feed", "--as", "warc-pointer", "pages.jsonl"])
    assert (result.exit_code, "--warc-directory" in result.stderr) == (2, True)
