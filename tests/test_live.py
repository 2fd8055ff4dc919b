"""A session that stays up to date with saved runs, verdicts, passes that deliver and footage that changes."""

import dataclasses
from pathlib import Path

import pytest

from accuracy_tui.benchmark import Benchmark, Query
from accuracy_tui.grid import State
from accuracy_tui.judgments import Judgments
from accuracy_tui.live import LiveSession
from accuracy_tui.runner import ModelFailed, ModelFinished, ModelProgress
from accuracy_tui.runs import save_run
from accuracy_tui.verdicts import JudgmentsError
from accuracy_tui.worker_events import (
    CancelledPass,
    Done,
    EmbeddingWindows,
    Failed,
    FootageFailed,
    FootageRead,
    FootageReading,
    Loading,
    ModelCancelled,
    ModelWaiting,
    NotRun,
    SavedRun,
    Searching,
    Waiting,
)
from sentrysearch import passes
from sentrysearch.errors import BadInput
from sentrysearch.types import Footage, WindowGrid
from support.runs import FOOTAGE, make_run, ranked, window

VAN, BUS, ROAD = Query("van", "fine"), Query("bus", "fine"), Query("road", "floor")
QUERIES = (VAN, BUS, ROAD)


def a_benchmark(folder, models=("a", "b"), queries=QUERIES):
    return Benchmark(
        name="trial",
        path=folder / "benchmark.yaml",
        footage=(),
        window=WindowGrid(10.0, 0.0),
        k=5,
        models=models,
        judgments=folder / "judgments.yaml",
        runs=folder / "runs",
        queries=queries,
    )


def every(*numbers):
    return {query: [window(number) for number in numbers] for query in QUERIES}


def footage(fingerprint=f"sha256:{0:064x}"):
    return Footage(FOOTAGE, Path(FOOTAGE), fingerprint, 900.0, 0.0, 320, 240, 0, "h264", 25.0)


def searched(model, query, *numbers, error=None):
    hits = ranked([window(number) for number in numbers])
    return ModelProgress(model, passes.Searched(query.text, hits, error))


@pytest.fixture
def session(tmp_path):
    benchmark = a_benchmark(tmp_path)
    save_run(make_run("a", every(0, 1, 2)), benchmark.runs)
    with LiveSession.open(benchmark) as opened:
        yield opened


def cells_of(model):
    return {(model, query.text) for query in QUERIES}


def test_saved_runs_are_there_before_any_footage(session):
    assert session.models == ("a", "b")
    assert session.passes == {"a": SavedRun("2025-01-31T12:00:00+00:00", 2.25), "b": NotRun()}
    assert session.grid.cell("a", "van").glyphs == "···––"
    assert session.grid.state("b", "van") is State.NO_RUN
    assert session.unjudged() == (9, 9)
    assert len(session.pool()) == 9
    assert session.judgments is not None and not session.judgments.read_only


def test_only_the_models_asked_for_are_columns(tmp_path):
    benchmark = a_benchmark(tmp_path)
    for model in ("a", "c"):
        save_run(make_run(model, every(0)), benchmark.runs)
    with LiveSession.open(benchmark) as opened:
        assert opened.models == ("a", "b", "c")
    with LiveSession.open(benchmark, models=["c"]) as opened:
        assert opened.models == ("c",)


def test_a_verdict_names_exactly_the_cells_that_hold_its_window(session, tmp_path):
    save_run(make_run("b", {VAN: [window(5), window(1)], BUS: [window(5)], ROAD: [window(1)]}), tmp_path)
    session.apply(ModelFinished("b", make_run("b", {VAN: [window(5), window(1)]}), tmp_path))
    assert session.put("van", window(1), True).cells == {("a", "van"), ("b", "van")}
    assert session.put("van", window(0), False).cells == {("a", "van")}
    assert session.put("van", window(0), False).cells == frozenset()
    assert session.grid.cell("a", "van").glyphs == "○●·––"
    assert session.found("van", window(1)) == (("a", 2), ("b", 2))
    measure = session.measures()[0]
    assert session.bounds("a", measure) == (0.0, 0.5)  # P@1 fine: van's first is false, bus's is open
    undone = session.undo()
    assert undone is not None and (undone.query, undone.window, undone.value) == ("van", window(0), None)
    assert undone.change.cells == {("a", "van")}
    assert session.bounds("a", measure) == (0.0, 1.0)


def test_verdicts_are_on_disk_when_put_returns(session, tmp_path):
    session.put("van", window(1), True)
    with Judgments.open(tmp_path / "judgments.yaml", (), write=False) as reader:
        assert [(query, value) for query, _, value in reader.items()] == [("van", True)]


def test_an_edit_from_outside_names_its_cells(session, tmp_path):
    assert session.poll().cells == frozenset()
    (tmp_path / "judgments.yaml").write_text('"bus":\n  "10.0-20.0": true\n')
    assert session.poll().cells == {("a", "bus")}
    assert session.grid.cell("a", "bus").glyphs == "·●·––"


def test_a_verdict_that_both_sides_changed_is_said_once(session, tmp_path):
    session.put("van", window(1), True)
    session.judgments.sync()
    session.put("van", window(1), False)
    file = tmp_path / "judgments.yaml"
    session.judgments.poll()
    file.write_text(file.read_text().replace("true", "true # sure"))
    session.put("van", window(1), True)
    file.write_text('"van":\n  "10.0-20.0": false\n')
    session.poll()
    said = [note for note in session.say_notes() if "judged yes here and is no" in note]
    assert len(said) == 1
    session.poll()
    assert session.say_notes() == []


def test_a_file_that_cannot_be_read_just_now_is_said_once(session, tmp_path):
    session.put("van", window(1), True)
    session.judgments.sync()
    good = (tmp_path / "judgments.yaml").read_text()
    (tmp_path / "judgments.yaml").write_text("<<<<<<< ours\n")
    session.poll()
    assert any("judgments.yaml" in note for note in session.say_notes())
    session.poll()
    assert session.say_notes() == []
    session.put("van", window(0), True)
    assert session.look("van", window(0)).value is True
    (tmp_path / "judgments.yaml").write_text(good)


def test_a_pass_from_waiting_to_done(session):
    assert session.apply(ModelWaiting("b")).cells == frozenset()
    assert session.passes["b"] == Waiting()
    session.apply(ModelProgress("b", passes.Loading()))
    loading = session.passes["b"]
    session.apply(ModelProgress("b", passes.Loading()))  # said a second time by the pass itself
    assert isinstance(loading, Loading) and session.passes["b"] is loading
    session.apply(ModelProgress("b", passes.Loaded(1.0)))
    session.apply(ModelProgress("b", passes.Embedding(3, 10, 1.5, 4.0)))
    assert session.passes["b"] == EmbeddingWindows(3, 10, 1.5, 4.0)
    change = session.apply(searched("b", VAN, 0, 7))
    assert change.cells == cells_of("b") and not change.layout
    assert session.passes["b"] == Searching(1, 3)
    assert session.grid.cell("b", "van").glyphs == "··–––"
    assert session.grid.state("b", "bus") is State.PENDING
    assert session.apply(searched("b", BUS, error="service down")).cells == {("b", "bus")}
    assert session.grid.cell("b", "bus").glyphs == "!"
    run = make_run("b", every(0, 7))
    assert session.apply(ModelFinished("b", run, Path("b.json"))).cells == cells_of("b")
    assert isinstance(session.passes["b"], Done)
    assert session.grid.state("b", "road") is State.RAN
    assert len(session.pool()) == 12


def test_numbers_of_a_pass_that_is_searching_leave_open_what_is_to_come(session):
    session.put("van", window(0), True)
    session.apply(searched("b", VAN, 0))
    precision_at_1 = session.measures()[0]
    assert session.bounds("b", precision_at_1) == (0.5, 1.0)  # van is true, bus may be
    (summary,) = [summary for summary in session.summaries() if summary.model == "b"]
    assert summary.judged == 1.0  # of the one query that came back
    assert summary.missing == ()


@pytest.mark.parametrize(
    ("event", "state"),
    [(ModelFailed("a", "out of memory"), Failed("out of memory")), (ModelCancelled("a"), CancelledPass())],
)
def test_a_rerun_that_ends_early_leaves_the_saved_run(session, event, state):
    before = session.grid.cell("a", "van")
    session.apply(searched("a", VAN, 8))
    assert [hit.window for hit in session.grid.cell("a", "van").hits] == [window(8)]
    assert session.grid.state("a", "bus") is State.PENDING
    assert session.apply(event).cells == cells_of("a")
    assert session.passes["a"] == state
    assert session.grid.cell("a", "van") == before
    assert session.grid.state("a", "bus") is State.RAN


def test_a_model_that_failed_before_anything_came_back_has_no_numbers(session):
    session.apply(searched("b", VAN, 0))
    session.apply(ModelFailed("b", "out of memory"))
    assert session.grid.state("b", "van") is State.NO_RUN
    assert session.bounds("b", session.measures()[0]) is None
    assert "b failed: out of memory" in session.report().remarks()


def test_a_model_nobody_has_asked_for_before_gets_a_column(session):
    assert session.apply(ModelWaiting("c")).layout
    assert session.models == ("a", "b", "c")


def test_a_column_more_is_as_if_it_had_been_there(session, tmp_path):
    session.add_models(["c"])
    assert session.grid.state("c", "van") is State.NO_RUN
    assert session.put("van", window(1), True).cells == {("a", "van")}
    session.apply(searched("c", VAN, 1, 9))
    assert session.grid.cell("c", "van").glyphs == "●·–––"
    session.apply(ModelFinished("c", make_run("c", every(1, 9)), Path("c.json")))
    save_run(make_run("c", every(1, 9)), session.benchmark.runs)
    session.judgments.sync()
    with LiveSession.open(session.benchmark) as anew:
        assert anew.models == session.models
        assert [anew.grid.outcomes(model) for model in anew.models] == [
            session.grid.outcomes(model) for model in session.models
        ]
        assert anew.unjudged() == session.unjudged()


def test_an_added_query_is_searched_without_putting_the_others_aside(session):
    assert session.add_query("  red bus ", "floor").layout
    assert [query.text for query in session.queries] == ["van", "bus", "road", "red bus"]
    assert session.added_queries == (Query("red bus", "floor"),)
    assert session.grid.state("a", "red bus") is State.MISSING
    session.apply(searched("a", Query("red bus", "floor"), 4))
    assert session.grid.cell("a", "red bus").glyphs == "·––––"
    assert session.grid.state("a", "van") is State.RAN


@pytest.mark.parametrize("text", ["", "   ", "van", " road ", "half \ud800"])
def test_queries_that_cannot_be_added(session, text):
    with pytest.raises(BadInput):
        session.add_query(text, "fine")
    assert session.queries == QUERIES


def test_a_query_added_while_a_pass_delivers_keeps_what_has_come(session):
    session.apply(searched("b", VAN, 0))
    session.add_query("red bus", "fine")
    assert session.grid.cell("b", "van").glyphs == "·––––"
    assert session.grid.state("b", "road") is State.PENDING


def test_footage_that_the_runs_were_made_on(session):
    session.apply(FootageReading("reading footage", 5, 10))
    assert session.footage_line == "reading footage 50 %"
    judgments = session.judgments
    assert session.apply(FootageRead((footage(),), ("broken.mp4: no video",))).layout is False
    assert session.footage_line is None
    assert session.footages[FOOTAGE].duration == 900.0
    assert session.judgments is judgments
    assert session.say_notes() == ["left out: broken.mp4: no video"]
    assert session.say_notes() == []


def test_footage_that_the_runs_were_not_made_on(session):
    assert session.apply(FootageRead((footage("sha256:" + "7" * 64),))).layout
    assert session.passes["a"] == NotRun()
    assert session.grid.state("a", "van") is State.NO_RUN
    assert any("run it again" in note for note in session.say_notes())


def test_footage_that_the_verdicts_were_not_made_on(session, tmp_path):
    session.put("van", window(1), True)
    session.judgments.sync()
    session.apply(FootageRead((footage("sha256:" + "7" * 64),)))
    assert session.judgments is None
    assert "another" in session.footage_line or "fingerprint" in session.footage_line
    with pytest.raises(JudgmentsError):
        session.put("van", window(1), False)


def test_without_a_run_verdicts_wait_for_the_footage(tmp_path):
    with LiveSession.open(a_benchmark(tmp_path)) as opened:
        assert opened.judgments is None
        with pytest.raises(JudgmentsError):
            opened.put("van", window(0), True)
        opened.apply(FootageFailed("clip.mp4: no such file"))
        assert opened.footage_line == "clip.mp4: no such file"
        opened.apply(FootageRead((footage(),)))
        opened.put("van", window(0), True)
        assert opened.look("van", window(0)).value is True


def test_a_second_session_on_the_same_judgments_reads_only_and_follows(session, tmp_path):
    with LiveSession.open(a_benchmark(tmp_path)) as second:
        assert second.judgments.read_only
        with pytest.raises(JudgmentsError):
            second.put("van", window(0), True)
        session.put("van", window(0), True)
        assert second.poll().cells == {("a", "van")}


def test_runs_over_other_windows_are_left_out_with_a_note(tmp_path):
    benchmark = a_benchmark(tmp_path)
    save_run(make_run("a", every(0)), benchmark.runs)
    with LiveSession.open(dataclasses.replace(benchmark, window=WindowGrid(20.0, 0.0))) as opened:
        assert opened.passes["a"] == NotRun()
        assert any("left out" in note for note in opened.say_notes())
