"""`dehusk model` for roll-outs, without a Kafka."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import orjson
import pytest
from click.testing import CliRunner, Result

from dehusk.schemas.errors import ConflictError, UnavailableError
from dehusk.schemas.rollout import Limits, Part, Rollout, Scope
from dehusk.schemas.trials import Comparison, EndedTrial, Example, Figures, WorkerReport
from dehusk.streams.cli import model
from dehusk.streams.cli.model import model_actions, rollout_actions
from dehusk.streams.rollout.claims import HeldClaim
from dehusk.streams.rollout.control import Control, ControlKey
from dehusk.streams.rollout.situation import Situation
from dehusk.streams.rollout.transitions import first_state, promote, with_canary, with_steps
from tests.unit.streams.models import graphs

SCOPE = Scope("dehusk", "news")
SHOW = ("show", "dehusk/7", "--without-triton", "--control-topic", "dehusk-control")
START = promote(first_state("7", "me"), "7", "me")
REPORT = WorkerReport("host-1", 1, "7", figures={"7": Figures(pages=3, words=10, kept=5, calls={-8: 1})})


class Cluster:
    """Roll-out that the commands find, and their records."""

    def __init__(self) -> None:
        self.situation = Situation(SCOPE, START, [REPORT], seen=[REPORT])
        self.written: list[Rollout] = []
        self.waited: list[float] = []

    def hear(self, *reports: WorkerReport) -> None:
        """Have these reports of live workers, all of which count."""
        self.situation = replace(self.situation, workers=reports, seen=reports)

    async def read(self, _topic, scope) -> Situation:
        return replace(self.situation, scope=scope)

    async def change(self, topic, scope, state) -> None:
        assert (topic.name, scope) == ("dehusk-control", SCOPE)
        self.written.append(state)

    async def wait(self, _topic, _scope, state, seconds) -> list[WorkerReport]:
        assert [state] == self.written
        self.waited.append(seconds)
        return self.situation.workers

    def run(self, *words: str, answer: str = "") -> Result:
        more = ("--without-triton",) if words[0] in {"canary", "shadow", "promote"} else ()
        return CliRunner().invoke(model.command, [*words, *more, "--group", "news"], input=answer)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    for actions in (model_actions, rollout_actions):
        monkeypatch.setattr(actions, "read_situation", made.read)
    monkeypatch.setattr(rollout_actions, "change_state", made.change)
    monkeypatch.setattr(rollout_actions, "wait_for_workers", made.wait)
    return made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with version 7."""
    graphs.write_version(tmp_path / "dehusk" / "7", graphs.always(0.5))
    graphs.write_config(tmp_path / "dehusk", "dehusk")
    return tmp_path


def test_a_command_says_what_it_changes_and_asks(cluster: Cluster) -> None:
    ended = cluster.run("canary", "dehusk/8", "--share", "0.05", answer="y\n")
    assert (ended.exit_code, len(cluster.written)) == (0, 1)
    assert ended.stderr.splitlines()[:3] == [
        "model dehusk in group news, 1 worker:",
        "  from version 7",
        "  to   version 7, version 8 for 5% of the sites",
    ]
    assert ended.stdout == "revision 2: version 7, version 8 for 5% of the sites\n"
    assert cluster.written[0].canary == Part("8", 0.05)
    assert "@" in cluster.written[0].change.by


@pytest.mark.parametrize(("share", "part"), [("5%", 0.05), ("0.05", 0.05), ("100%", 1.0), ("0.5 %", 0.005)])
def test_a_share_is_a_number_or_a_percentage(cluster: Cluster, share: str, part: float) -> None:
    assert cluster.run("canary", "dehusk/8", "--share", share, "--yes").exit_code == 0
    assert cluster.written[0].canary == Part("8", part)


def test_a_command_says_what_triton_is_to_load_before_it_asks(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def to_serve(server, _repository, model, state, _taken_back) -> list[str]:
        assert (server.address, model, state.versions) == ("triton:8001", "dehusk", ("7", "8"))
        return ["7", "8"]

    monkeypatch.setattr(rollout_actions, "to_serve", to_serve)
    words = ["canary", "dehusk/8", "--share", "0.05", "--group", "news", "--triton", "triton:8001"]
    words += ["--model-repository", "/srv/models"]
    ended = CliRunner().invoke(model.command, words, input="n\n")
    assert ended.stderr.splitlines()[3:] == [
        "  Triton at triton:8001 loads versions 7, 8, named in /srv/models/dehusk/config.pbtxt",
        "Change that? [y/N] ",
    ]


def test_a_version_that_cannot_be_served_is_told_before_it_is_asked_for(cluster: Cluster) -> None:
    words = ["canary", "dehusk/8", "--share", "0.05", "--group", "news", "--triton", "127.0.0.1:1"]
    ended = CliRunner().invoke(model.command, words, input="y\n")
    assert "Triton at 127.0.0.1:1" in str(ended.exception)
    assert "Change that?" not in ended.stderr
    assert cluster.written == []


class Server:
    """A Triton that serves what it is told."""

    served: list[str]

    def __init__(self, address: str) -> None:
        self.address = address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def ready(self, _model: str) -> list[str]:
        return Server.served


async def _serve(_server, _repository, _model, wanted, **_more: object) -> None:
    Server.served = [*wanted]


@pytest.mark.parametrize("conflict", ["before", "after"])
def test_a_command_that_comes_second_leaves_triton_as_it_was(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, conflict: str
) -> None:
    Server.served, steps = ["7"], []

    @asynccontextmanager
    async def claimed(topic, scope, revision, change, _seconds) -> AsyncIterator[HeldClaim]:
        steps.append(f"claim on {revision}")
        if conflict == "before":
            raise ConflictError("changed meanwhile")
        yield HeldClaim(topic, scope, change)

    async def serve_named(_topic, _situation, state, server, _repository, *, guard) -> None:
        with pytest.raises(ConflictError, match="changes nothing more"):
            guard()
        await _serve(server, None, None, state.versions)
        steps.append("serve")

    async def change(_topic, _scope, _state, *, guard) -> None:
        raise ConflictError("changed meanwhile")

    async def to_serve(*_given: object) -> list[str]:
        return ["7", "8"]

    patched = {"claimed": claimed, "serve_named": serve_named, "change_state": change, "to_serve": to_serve}
    for name, made in {**patched, "ModelServer": Server, "serve": _serve}.items():
        monkeypatch.setattr(rollout_actions, name, made)
    words = ["canary", "dehusk/8", "--share", "0.05", "--group", "news", "--yes"]
    ended = CliRunner().invoke(model.command, words)
    assert "changed meanwhile" in str(ended.exception)
    assert steps == ["claim on 1", "serve"][: 1 if conflict == "before" else 2]
    assert Server.served == ["7"]


@pytest.mark.usefixtures("cluster")
def test_a_version_that_is_needed_by_the_time_of_the_answer_stays(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.write_version(repository / "dehusk" / "8", graphs.always(0.5))
    graphs.write_version(repository / "dehusk" / "9", graphs.always(0.5))
    free, needed = (
        Control(states={SCOPE: START}),
        Control(states={SCOPE: with_canary(START, Part("8", 0.1), "me")}),
    )
    found, claims = [free, needed], []

    async def read(_topic) -> Control:
        return found.pop(0)

    @asynccontextmanager
    async def claimed(topic, scope, revision, change, _seconds) -> AsyncIterator[HeldClaim]:
        claims.append((scope.model, revision, change.reason))
        yield HeldClaim(topic, scope, change)

    monkeypatch.setattr(model_actions, "read_existing", read)
    monkeypatch.setattr(model_actions, "claimed", claimed)
    words = ["remove", "dehusk/8", "--control-topic", "dehusk-control", "--without-triton"]
    ended = CliRunner().invoke(model.command, [*words, "--repository", str(repository)], input="y\n")
    assert "dehusk/8 is needed: the roll-out of model dehusk in group news names it" in str(ended.exception)
    assert claims == [("dehusk", 0, "removal of dehusk/8")]
    assert (repository / "dehusk" / "8").exists()


def test_a_status_says_that_no_worker_reports(cluster: Cluster) -> None:
    cluster.situation = Situation(SCOPE, START, [])
    assert cluster.run("status", "dehusk").stdout.endswith("no worker of the group reports\n")


def test_where_a_group_is_not_known_those_are_named_that_are(cluster: Cluster) -> None:
    cluster.situation = Situation(SCOPE, None, [], others=[Scope("dehusk", "shop"), Scope("other", "news")])
    known = "; the topic has model dehusk in group shop and model other in group news"
    assert f"no worker of the group reports{known}\n" in cluster.run("status", "dehusk").stdout
    told = cluster.run("canary", "dehusk/8", "--share", "1", "--yes")
    assert str(told.exception).endswith(f"promote that one first{known}")


def test_a_status_names_the_limits_that_were_changed(cluster: Cluster) -> None:
    assert "limits" not in cluster.run("status", "dehusk").stdout
    limits = Limits(least_pages=20, most_latency=4.5)
    cluster.situation = Situation(SCOPE, replace(START, limits=limits), [REPORT])
    shown = cluster.run("status", "dehusk").stdout
    assert "\nlimits other than by default: least-pages=20, most-latency=4.5\n" in shown


@pytest.mark.parametrize(("state", "named"), [(START, "host-2"), (None, "host-1, host-2")])
def test_workers_that_ignore_what_a_topic_says_that_was_emptied_are_named(
    cluster: Cluster, state: Rollout | None, named: str
) -> None:
    cluster.situation = Situation(SCOPE, state, [REPORT, replace(REPORT, worker="host-2", revision=25)])
    said = f"ignore it until they are restarted: {named}\n"
    assert said in cluster.run("status", "dehusk").stderr
    assert said in cluster.run("canary", "dehusk/8", "--share", "0.1", "--dry-run").stderr
    cluster.situation = Situation(SCOPE, START, [REPORT])
    assert "emptied" not in cluster.run("status", "dehusk").stderr


def test_a_worker_that_ignores_what_is_written_is_not_waited_for(cluster: Cluster) -> None:
    cluster.situation = Situation(SCOPE, None, [REPORT])
    ended = cluster.run("canary", "dehusk/8", "--share", "0.1", "--yes", "--wait")
    assert [state.revision for state in cluster.written] == [REPORT.revision]
    assert "ignore it until they are restarted: host-1" in str(ended.exception)
    assert cluster.waited == []


def test_times_and_words_that_nobody_knows_are_not_shown_as_none(cluster: Cluster) -> None:
    figures = {"7": Figures(pages=4, late=4)}
    cluster.situation = Situation(SCOPE, START, [REPORT], seen=[replace(REPORT, figures=figures)])
    assert "7\t4\t0\t4\t0\t–\t–\t–\n" in cluster.run("status", "dehusk").stdout


@pytest.mark.parametrize("answer", ["", "n\n"])
def test_without_a_yes_nothing_is_changed(cluster: Cluster, answer: str) -> None:
    ended = cluster.run("promote", "dehusk/8", answer=answer)
    assert "nothing was changed; --yes does not ask" in str(ended.exception)
    assert cluster.written == []


def test_a_status_says_that_the_policy_names_a_version_that_was_taken_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = tmp_path / "dehusk" / "config.pbtxt"
    for version in ("7", "8"):
        (config.parent / version).mkdir(parents=True)
        (config.parent / version / "model.onnx").touch()
    config.write_text("version_policy { specific { versions: [ 7, 8 ] } }")
    words = ("status", "dehusk", "--model-repository", str(tmp_path))
    assert cluster.run(*words).stderr == ""
    cluster.situation = replace(cluster.situation, taken_back=frozenset({"8"}))
    told = cluster.run(*words, "--json")
    assert f"{config} names version 8, taken back by workers" in told.stderr
    assert "model repair dehusk --control-topic dehusk-control --group news` takes it out" in told.stderr
    assert orjson.loads(told.stdout)["stale"] == ["8"]
    config.write_text("version_policy { specific { versions: [ 7 ] } }")
    assert cluster.run(*words).stderr == ""


def test_waiting_says_how_long_the_workers_took(cluster: Cluster) -> None:
    ended = cluster.run("promote", "dehusk/8", "--yes", "--wait", "--wait-seconds", "5")
    assert "1 worker followed within 0." in ended.stdout
    assert cluster.waited == [5.0]


def test_a_version_that_is_left_goes_also_if_a_worker_does_not_follow(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = []

    async def withdraw(_options, before, state, *, is_used) -> None:
        left.append((before.serving, state.serving, is_used))

    async def wait(*_given: object) -> list[WorkerReport]:
        raise UnavailableError("after 60 s, these do not follow it yet: host-1")

    monkeypatch.setattr(rollout_actions, "_withdraw", withdraw)
    monkeypatch.setattr(rollout_actions, "wait_for_workers", wait)
    cluster.situation = replace(cluster.situation, state=promote(START, "8", "me"))
    ended = cluster.run("rollback", "dehusk", "--yes", "--wait")
    assert "these do not follow it yet" in str(ended.exception)
    assert ended.stdout == "revision 3: version 7\n"
    assert left == [("8", "7", True)]


def test_where_no_worker_reports_nobody_is_waited_for(cluster: Cluster) -> None:
    cluster.situation = Situation(SCOPE, None, [])
    ended = cluster.run("promote", "dehusk/8", "--yes", "--wait")
    assert "no worker of the group reports" in ended.stdout
    assert (cluster.waited, cluster.written[0].serving, cluster.written[0].revision) == ([], "8", 1)


def test_json_has_the_states_before_and_after(cluster: Cluster) -> None:
    ended = cluster.run("shadow", "dehusk/8", "--share", "0.5", "--yes", "--json", "--wait")
    told = orjson.loads(ended.stdout)
    assert (told["before"]["revision"], told["after"]["shadow"]) == (1, {"version": "8", "share": 0.5})
    assert ([each["worker"] for each in told["workers"]], told["group"]) == (["host-1"], "news")


def test_limits_are_changed_one_by_one(cluster: Cluster) -> None:
    state = replace(START, limits=Limits(least_pages=9))
    cluster.situation = replace(cluster.situation, state=state)
    limits = ("--limit", "most-errors=0.5", "--limit", "least-failures=7")
    cluster.run("canary", "dehusk/8", "--share", "0.5", "--yes", *limits)
    assert cluster.written[0].limits == Limits(least_pages=9, most_errors=0.5, least_failures=7)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("canary", "dehusk/8"), "Missing option '--share'"),
        (("canary", "dehusk/8", "--share", "0"), "0<x<=1"),
        (("canary", "dehusk/newest", "--share", "1"), "'newest' is no version: a number"),
        (("promote", "dehusk"), "name the version, such as dehusk/8"),
        (("promote", "14"), "name the version, such as dehusk/14"),
        (("rollback", "dehusk/8"), "the model alone, such as dehusk"),
        (("promote", "dehusk/8", "--limit", "patience=1"), "'patience' is none of: least-pages"),
        (("promote", "dehusk/8", "--limit", "least-pages=1.5"), "'1.5' is no number for least-pages"),
        (("promote", "dehusk/8", "--limit", "most-errors=-1"), "no finite number from 0 on, as most-errors"),
        (("promote", "dehusk/8", "--limit", "most-errors=nan"), "no finite number from 0 on, as most-errors"),
        (("promote", "dehusk/8", "--limit", "most-latency=inf"), "no finite number from 0 on"),
        (("promote", "dehusk/8", "--limit", "least-pages=0"), "no finite number from 1 on and below 9,"),
        (("promote", "dehusk/8", "--limit", f"least-pages={1 << 63}"), "no finite number from 1 on"),
        (("promote", "dehusk/8", "--hold", "10m"), "times of each step: give --steps"),
        (("promote", "dehusk/8", "--give-up-after", "10m"), "times of each step: give --steps"),
        (("promote", "dehusk/8", "--steps", "10%,5%"), "larger than the one before, and below all"),
        (("promote", "dehusk/8", "--steps", "10%,100%"), "larger than the one before, and below all"),
        (("promote", "dehusk/8", "--steps", "nan"), "nan is no finite number"),
        (("promote", "dehusk/8", "--steps", "0%,5%"), "0<x<=1"),
        (("promote", "dehusk/8", "--steps", "few"), "'few' is no share, such as 10% or 0.1"),
        (("promote", "dehusk/8", "--steps", "10%", "--hold", "10"), "'10' is no time such as 90s, 10m"),
        (("canary", "dehusk/8", "--share", "nan"), "nan is no finite number"),
        (("canary", "dehusk/8", "--share", "101%"), "0<x<=1"),
        (("canary", "dehusk/8", "--share", "few"), "'few' is no share, such as 10% or 0.1"),
        (("promote", "dehusk/8", "--wait-seconds", "inf"), "inf is not in the range 1.0<=x<=2147483"),
    ],
)
def test_what_is_wrong_with_a_command_is_a_usage_error(cluster: Cluster, words, said: str) -> None:
    ended = cluster.run(*words)
    assert (ended.exit_code, cluster.written) == (2, [])
    assert said in ended.stderr


def test_going_back_takes_no_version(cluster: Cluster) -> None:
    canary = with_canary(START, Part("8", 0.1), "me")
    cluster.situation = replace(cluster.situation, state=canary)
    cluster.run("rollback", "dehusk", "--yes", "--reason", "bad")
    (state,) = cluster.written
    assert (state.canary, state.change.reason) == (None, "bad")


def test_going_back_names_both_versions_and_asks(cluster: Cluster) -> None:
    cluster.situation = replace(cluster.situation, state=promote(START, "8", "me"))
    ended = cluster.run("rollback", "dehusk", answer="n\n")
    assert "Go back from version 8 to version 7? [y/N]" in ended.stderr
    assert cluster.written == []


def test_a_dry_run_says_what_would_be_changed(cluster: Cluster) -> None:
    ended = cluster.run("promote", "dehusk/8", "--dry-run")
    assert ended.stdout == "nothing was changed; it would be revision 2: version 8\n"
    told = orjson.loads(cluster.run("promote", "dehusk/8", "--dry-run", "--json").stdout)
    assert (told["after"]["serving"], told["loads"], told["dry_run"]) == ("8", [], True)
    assert cluster.written == []


def test_a_promotion_in_steps_begins_with_the_first_share(cluster: Cluster) -> None:
    times = ("--hold", "2h", "--give-up-after", "3h")
    ended = cluster.run("promote", "dehusk/8", "--steps", "1%,0.1, 50%", *times, "--yes")
    (state,) = cluster.written
    assert (state.canary, state.steps and state.steps.hold_seconds) == (Part("8", 0.01), 7200.0)
    assert state.steps is not None
    assert state.steps.give_up_seconds == 10800.0
    described = "version 7, version 8 for 1% of the sites, then 10%, 50%, all, after 7200 s each"
    assert ended.stdout == f"revision 2: {described}\n"


def test_steps_are_paused_and_resumed_and_the_status_says_what_they_wait_for(cluster: Cluster) -> None:
    state = with_steps(START, "8", (0.1,), 600.0, "me")
    cluster.situation = replace(cluster.situation, state=state)
    assert "\nnext step: held until " in cluster.run("status", "dehusk").stdout
    cluster.run("pause", "dehusk", "--yes", "--reason", "forums?")
    (paused,) = cluster.written
    assert (paused.steps and paused.steps.is_paused, paused.change.reason) == (True, "forums?")
    cluster.situation = replace(cluster.situation, state=paused)
    assert orjson.loads(cluster.run("status", "dehusk", "--json").stdout)["next_step"] == "paused"
    cluster.run("resume", "dehusk", "--yes")
    assert cluster.written[1].steps is not None
    assert not cluster.written[1].steps.is_paused


def test_the_history_says_who_changed_what_when_and_why(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Control()
    for state in (START, with_canary(START, Part("8", 0.1), "ada\x1b")):
        control.changes[ControlKey(SCOPE, change=str(state.revision))] = state

    async def read(_topic) -> Control:
        return control

    monkeypatch.setattr(rollout_actions, "read_existing", read)
    first, second = (f"{each.change.at:%Y-%m-%d %H:%M:%S}" for each in control.changes.values())
    canary = "version 8 labels 10% of the sites\tversion 7, version 8 for 10% of the sites"
    assert cluster.run("history", "dehusk").stdout.splitlines()[1:] == [
        f"1\t{first}\tme\tversion 7 serves\tversion 7",
        f"2\t{second}\tada\\x1b\t{canary}",
    ]
    told = orjson.loads(cluster.run("history", "dehusk", "--limit", "1", "--json").stdout)
    assert [each["revision"] for each in told["changes"]] == [2]
    control.changes.clear()
    assert cluster.run("history", "dehusk").stdout == "model dehusk in group news: no change is known\n"


def test_the_first_change_goes_on_from_what_workers_label_with(cluster: Cluster) -> None:
    cluster.situation = replace(cluster.situation, state=None)
    cluster.run("promote", "dehusk/8", "--yes")
    (state,) = cluster.written
    assert (state.serving, state.previous, state.revision) == ("8", "7", 1)


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        ([], "no worker of model dehusk in group news reports"),
        ([REPORT, replace(REPORT, serving="6")], "6 and 7"),
    ],
)
def test_a_canary_needs_to_know_what_serves(cluster: Cluster, workers, said: str) -> None:
    cluster.situation = Situation(SCOPE, None, workers)
    ended = cluster.run("canary", "dehusk/8", "--share", "1", "--yes")
    assert said in str(ended.exception)
    assert cluster.written == []


def seen() -> WorkerReport:
    figures = Figures(pages=10, words=100, kept=40, calls={-8: 4})
    example = Example("https://example.org/\x1b", "Read more", 0.9, 0.1)
    comparison = Comparison(
        figures,
        figures,
        blocks=50,
        differing=5,
        missed=2,
        examples=(example,),
        pages=10,
        differing_pages=4,
        added=1,
        words=100,
        kept_by_both=36,
        added_words=2,
        removed_words=4,
        slowdowns={-4: 2, 0: 6, 4: 2},
    )
    trials = {"canary": comparison}
    refused = {"9": "no such version"}
    return replace(REPORT, shadow="8", refused=refused, comparison=comparison, trials=trials)


def test_the_status_adds_up_what_workers_have_seen(cluster: Cluster) -> None:
    cluster.hear(REPORT, seen())
    shown = cluster.run("status", "dehusk").stdout
    assert shown.startswith("model dehusk in group news: version 7\nrevision 1, ")
    assert "worker host-1, revision 1: serving 7, shadow 8; not 9: no such version" in shown
    assert "7\t6\t0\t0\t0\t50.0%\t250 ms\t250 ms" in shown
    for trial in ("shadow", "canary"):
        line = "10.00% of 50 blocks on 10 pages decided otherwise; 2 pages not compared"
        assert f"\n{trial}: {line}\n" in shown


def test_a_version_is_shown_with_what_a_shadow_would_change(cluster: Cluster, repository: Path) -> None:
    cluster.hear(REPORT, seen())
    words = (*SHOW, "--model-repository", str(repository))
    shown = cluster.run(*words).stdout
    assert "model dehusk in group news: version 7\n" in shown
    assert shown.count("trusted\t10\t0\t0\t0\t40.0%") == 2
    assert "shadow\t10\t0\t0\t0\t40.0%" in shown
    assert "it keeps 2.00% of the blocks more, and 8.00% less, on 40.0% of the pages\n" in shown
    assert "it keeps 2.00% of the words more, and 4.00% less: F1 92.3% beside the trusted version\n" in shown
    assert "it takes 1.00 times as long, 0.50 to 2.00 in eight of ten of 10 timed calls\n" in shown
    assert "0.90 -> 0.10  https://example.org/\\x1b\n    Read more" in shown
    told = orjson.loads(cluster.run(*words, "--json").stdout)["rollout"]
    assert (told["state"]["serving"], told["figures"]["7"]["pages"]) == ("7", 6)
    assert [each["shadow"] for each in told["comparison"]["examples"]] == [0.1]


def test_the_last_trials_of_a_version_are_shown(cluster: Cluster, repository: Path) -> None:
    compared, figures = seen().comparison, Figures(pages=30, errors=4)
    assert compared is not None
    ended = [
        EndedTrial(trial, version, "6", 3, replace(START.change, reason=reason), 2, figures, compared)
        for trial, version, reason in (
            ("shadow", "7", "the first one"),
            ("canary", "7", "second"),
            ("shadow", "8", "another one"),
            ("shadow", "7", "third"),
        )
    ]
    cluster.situation = replace(cluster.situation, ended=ended)
    words = (*SHOW, "--model-repository", str(repository), "--trials", "2")
    shown = cluster.run(*words).stdout
    assert shown.index("shadow 7 beside 6, ended by\nme: third\n") < shown.index("canary 7 beside 6")
    assert "all pages\t30\t4\t" in shown
    assert "the first one" not in shown
    assert "another one" not in shown
    told = orjson.loads(cluster.run(*words, "--json").stdout)["rollout"]["ended"]
    assert [(each["trial"], each["change"]["reason"]) for each in told] == [
        ("shadow", "third"),
        ("canary", "second"),
    ]
    assert (told[0]["comparison"]["added"], told[0]["figures"]["errors"]) == (1, 4)


def test_the_status_as_json_has_the_same(cluster: Cluster) -> None:
    cluster.hear(REPORT, seen())
    shown = orjson.loads(cluster.run("status", "dehusk", "--json").stdout)
    assert (shown["state"]["serving"], shown["figures"]["7"]["pages"]) == ("7", 6)
    assert (shown["comparison"]["disagreement"], len(shown["comparison"]["examples"])) == (0.1, 1)
    assert (shown["trials"]["canary"]["added"], shown["trials"]["canary"]["removed"]) == (1, 4)
    assert shown["workers"][1]["refused"] == {"9": "no such version"}


def test_without_a_state_the_status_says_so(cluster: Cluster) -> None:
    cluster.situation = Situation(SCOPE, None, [])
    shown = cluster.run("status", "dehusk").stdout
    assert shown.splitlines() == [
        "model dehusk in group news: no state: the version that each labeler chooses",
        "no worker of the group reports",
    ]
