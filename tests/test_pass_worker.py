"""Passes beside the console, in real child processes: what goes well, and everything that can end them."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from accuracy_tui.benchmark import Query, load_benchmark
from accuracy_tui.pass_worker import PassWorker
from accuracy_tui.run_events import ModelFailed, ModelFinished
from accuracy_tui.runner import Job, run_models
from accuracy_tui.runs import load_run
from accuracy_tui.session import read_footage
from accuracy_tui.worker_events import (
    FootageFailed,
    FootageRead,
    FootageReading,
    ModelCancelled,
)
from sentrysearch.locations import collections_folder
from sentrysearch.pass_events import Embedding, Loaded, Loading, Searched
from sentrysearch.store import sweep
from support.pass_events import SECONDS, Reported
from support.stand_in_models import PROGRAM, TESTS
from support.video import write_clip

QUERIES = ("red", "green", "blue")


@pytest.fixture
def benchmark(tmp_path):
    write_clip(tmp_path / "clip.mp4", seconds=20, fps=5, size=(64, 64))
    file = tmp_path / "benchmark.yaml"
    file.write_text(
        "footage: clip.mp4\nwindow: {length: 2, overlap: 0}\nk: 3\nmodels: [test/colour]\n"
        "queries:\n  floor: [red]\n  fine: [green, blue]\n"
    )
    return load_benchmark(file)


@pytest.fixture
def open_worker():
    """Makes workers over the stand-in models, and closes them."""
    opened = []

    def make(benchmark, **options):
        reported = Reported()
        worker = PassWorker(benchmark, reported, **({"program": PROGRAM} | options))
        opened.append(worker)
        return worker, reported

    yield make
    for worker in opened:
        worker.close()


@pytest.fixture
def passes(benchmark, open_worker):
    return open_worker(benchmark)


def process_of(worker):
    return worker._child.pid


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(reached):
    until = time.monotonic() + SECONDS
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.02)


def saved(benchmark, model="test/colour"):
    (found,) = [load_run(path) for path in benchmark.runs.glob("*.json") if load_run(path).model == model]
    return found


def texts(run):
    return [query.query for query in run.queries]


# What goes well


def test_a_real_model_gives_the_same_run_as_the_command_line_and_takes_one_more_query(benchmark, open_worker):
    worker, reported = open_worker(benchmark, program=None)
    worker.start(["conse-lite0"])
    finished = reported.of(ModelFinished, "conse-lite0")
    job = Job(
        models=("conse-lite0",),
        footages=read_footage(benchmark),
        window=benchmark.window,
        queries=benchmark.queries,
        k=benchmark.k,
        runs=benchmark.runs.parent / "elsewhere",
    )
    alone = next(
        event.run for event in run_models(job, cancel=threading.Event()) if isinstance(event, ModelFinished)
    )
    assert finished.run.queries == alone.queries
    assert load_run(finished.path).queries == alone.queries

    before = len(reported.events)
    worker.add_queries([Query("a dog", "fine")], ["conse-lite0"])
    merged = reported.of(ModelFinished, "conse-lite0", after=before).run
    assert merged.queries[:-1] == alone.queries
    assert merged.queries[-1].query == "a dog" and len(merged.queries[-1].hits) == 3
    assert load_run(finished.path) == merged
    first = reported.pass_event(Embedding, "conse-lite0", after=before)
    assert first.done == first.total == 10  # no window was embedded again


def test_models_run_one_after_the_other(passes, benchmark):
    worker, reported = passes
    assert not worker.busy
    worker.start(["test/colour", "test/other", "test/colour"])
    worker.start(["test/other"])
    assert worker.busy
    reported.of(ModelFinished, "test/other")
    assert reported.names("test/colour") == ["ModelWaiting", "ModelFinished"]
    assert reported.names("test/other") == ["ModelWaiting", "ModelFinished"]
    models = [event.model for event in reported.events if isinstance(event, ModelFinished)]
    assert models == ["test/colour", "test/other"]
    assert texts(saved(benchmark)) == ["green", "blue", "red"]
    wait_until(lambda: not worker.busy)


def test_every_event_of_a_pass_arrives(passes):
    worker, reported = passes
    worker.start(["test/colour"])
    reported.of(ModelFinished)
    told = [type(event.event) for event in reported.events if hasattr(event, "event")]
    assert told[0] is Loading and Loaded in told and Embedding in told and told.count(Searched) == 3


def test_the_footage_is_read_once_for_all_passes(passes):
    worker, reported = passes
    worker.read_footage()
    read = reported.of(FootageRead)
    assert [footage.name for footage in read.footages] == ["clip.mp4"] and read.skipped == ()
    assert reported.of(FootageReading).total == 1
    worker.start(["test/colour"])
    reported.of(ModelFinished)
    assert sum(isinstance(event, FootageRead) for event in reported.events) == 1


def test_a_file_that_cannot_be_used_is_said(tmp_path, passes):
    (tmp_path / "folder").mkdir()
    write_clip(tmp_path / "folder/good.mp4")
    (tmp_path / "folder/bad.mp4").write_bytes(b"")
    (tmp_path / "folder.yaml").write_text("footage: folder\nqueries: {fine: [red]}\n")
    reported = Reported()
    worker = PassWorker(load_benchmark(tmp_path / "folder.yaml"), reported)
    worker.read_footage()
    read = reported.of(FootageRead)
    worker.close()
    assert [footage.name for footage in read.footages] == ["good.mp4"]
    assert len(read.skipped) == 1 and "bad.mp4" in read.skipped[0]


def test_what_a_model_prints_stays_off_the_terminal(passes, capfd):
    worker, reported = passes
    worker.start(["test/loud"])
    reported.of(ModelFinished)
    assert capfd.readouterr() == ("", "")


# Vectors


def test_vectors_last_as_long_as_the_worker(passes):
    worker, reported = passes
    worker.start(["test/colour"])
    reported.of(ModelFinished)
    assert len(list(collections_folder().glob("_accuracy*/*/vectors.f32"))) == 1
    assert sweep() == 0
    worker.close()
    assert not list(collections_folder().iterdir())


def test_vectors_are_kept_where_that_is_asked(benchmark, open_worker):
    worker, reported = open_worker(benchmark, keep_index=True)
    worker.start(["test/colour"])
    reported.of(ModelFinished)
    worker.close()
    assert len(list(collections_folder().glob("*/vectors.f32"))) == 1


# Queries added


def test_a_query_added_while_its_model_runs_is_searched_after_it(passes, benchmark):
    worker, reported = passes
    worker.start(["test/slow"])
    reported.pass_event(Embedding, "test/slow")
    worker.add_queries([Query("grey", "floor")], ["test/slow"])
    reported.wait(
        lambda event: isinstance(event, ModelFinished) and texts(event.run) == [*texts_in_order(), "grey"]
    )
    assert reported.names("test/slow") == ["ModelWaiting", "ModelFinished", "ModelWaiting", "ModelFinished"]
    assert saved(benchmark, "test/slow").queries[-1].group == "floor"


def texts_in_order():
    return ["green", "blue", "red"]


def test_a_query_added_to_a_run_of_another_revision_makes_all_of_it_anew(benchmark, open_worker, monkeypatch):
    worker, reported = open_worker(benchmark)
    worker.start(["test/colour"])
    reported.of(ModelFinished)
    worker.add_queries([Query("grey", "fine")], ["test/colour"])
    reported.wait(lambda event: isinstance(event, ModelFinished) and len(event.run.queries) == 4)
    worker.close()
    monkeypatch.setenv("NEW_REVISION", "1")
    again, reported = open_worker(benchmark)
    again.add_queries([Query("red", "floor")], ["test/colour"])
    run = reported.of(ModelFinished).run
    assert run.revision == "colour-2"
    assert sorted(texts(run)) == ["blue", "green", "grey", "red"]  # none is lost


def test_one_more_query_does_not_send_a_hosted_models_windows_again(benchmark, open_worker, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "x")
    worker, reported = open_worker(benchmark)
    worker.start(["gemini"])
    run = reported.of(ModelFinished).run
    worker.add_queries([Query("grey", "fine")], ["gemini"])
    reported.wait(lambda event: isinstance(event, ModelFinished) and len(event.run.queries) == 4)
    worker.close()
    later, reported = open_worker(benchmark)
    later.add_queries([Query("red", "fine"), Query("grey", "fine")], ["gemini"])
    assert "run the model again" in reported.of(ModelFailed).reason
    assert saved(benchmark, "gemini").queries[:3] == run.queries


# What goes wrong


def test_a_process_killed_from_outside_is_a_failed_pass_and_the_next_runs(passes):
    worker, reported = passes
    worker.start(["test/slow", "test/other"])
    reported.wait(lambda event: getattr(getattr(event, "event", None), "done", 0) >= 2)
    os.kill(process_of(worker), signal.SIGKILL)
    assert reported.of(ModelFailed).reason == "ended by signal 9, likely out of memory"
    reported.of(ModelFinished, "test/other")

    before = len(reported.events)
    worker.start(["test/slow"])
    run = reported.of(ModelFinished, "test/slow", after=before).run
    assert texts(run) == ["green", "blue", "red"]
    assert reported.pass_event(Embedding, "test/slow", after=before).done >= 2  # it goes on from there


def test_models_that_fail_are_said_and_the_next_runs(passes):
    worker, reported = passes
    reasons = {
        "test/hungry": "out of memory",
        "test/hungry-load": "out of memory",
        "test/killed": "ended by signal 9, likely out of memory",
        "test/crashed": "ended by signal 11: the driver is not amused",
        "test/quitting": "ended with exit status 3: no such licence",
        "no-such-model": "no model named 'no-such-model'",
        "qwen-cloud": "no key: DASHSCOPE_API_KEY is not set",
    }
    worker.start([*reasons, "test/colour"])
    reported.of(ModelFinished, "test/colour")
    for model, reason in reasons.items():
        assert reason in reported.of(ModelFailed, model).reason
        assert reported.names(model) == ["ModelWaiting", "ModelFailed"]


def test_a_process_that_cannot_start_is_said(benchmark, open_worker):
    worker, reported = open_worker(benchmark, program=["/no/such/program"])
    worker.start(["test/colour"])
    assert "No such file" in reported.of(FootageFailed).reason
    assert "No such file" in reported.of(ModelFailed).reason


def test_footage_that_is_missing_is_said_and_found_at_the_next_try(benchmark, passes):
    worker, reported = passes
    clip = benchmark.footage[0].path
    clip.rename(clip.with_suffix(".away"))
    worker.start(["test/colour", "test/other"])
    reason = reported.of(FootageFailed).reason
    assert "clip.mp4" in reason
    assert reported.of(ModelFailed, "test/colour").reason == reason
    assert reported.of(ModelFailed, "test/other").reason == reason
    clip.with_suffix(".away").rename(clip)
    worker.start(["test/colour"])
    reported.of(ModelFinished, "test/colour")


def test_footage_replaced_since_it_was_read_is_not_taken_for_what_it_was(benchmark, passes):
    worker, reported = passes
    worker.read_footage()
    reported.of(FootageRead)
    write_clip(benchmark.footage[0].path, seconds=10, fps=5, size=(64, 64))
    worker.start(["test/colour"])
    reason = reported.of(ModelFailed, "test/colour").reason
    assert reason == "clip.mp4: is another file than the one that was read; start again"
    assert not list(benchmark.runs.glob("*.json"))


def test_runs_that_cannot_be_saved_are_said_before_the_pass(benchmark, passes):
    worker, reported = passes
    benchmark.runs.write_text("in the way")
    worker.start(["test/slow"])
    assert "runs cannot be written here" in reported.of(ModelFailed).reason
    assert not any(hasattr(event, "event") for event in reported.events)


# Cancelling


def test_cancelling_a_pass_that_embeds_keeps_what_it_has_for_a_retry(passes, benchmark):
    worker, reported = passes
    worker.start(["test/slow"])
    reported.wait(lambda event: getattr(getattr(event, "event", None), "done", 0) >= 2)
    worker.cancel("test/slow")
    reported.of(ModelCancelled)
    assert not benchmark.runs.exists()
    before = len(reported.events)
    worker.start(["test/slow"])
    reported.of(ModelFinished)
    assert reported.pass_event(Embedding, "test/slow", after=before).done >= 2


@pytest.mark.parametrize("model", ["test/loading", "test/stuck"])
def test_cancelling_ends_a_model_that_does_not_listen(passes, model):
    worker, reported = passes
    worker.start([model, "test/other"])
    reported.pass_event(Loading if model == "test/loading" else Embedding, model)
    pid = process_of(worker)
    worker.cancel(model)
    reported.of(ModelCancelled, model)
    wait_until(lambda: is_gone(pid))
    reported.of(ModelFinished, "test/other")


def test_a_queued_pass_is_cancelled_at_once_and_the_running_one_goes_on(passes):
    worker, reported = passes
    worker.start(["test/slow", "test/other"])
    reported.pass_event(Embedding, "test/slow")
    worker.cancel("test/other")
    reported.of(ModelCancelled, "test/other")
    assert not any(isinstance(event, ModelFinished) for event in reported.events)
    reported.of(ModelFinished, "test/slow")
    wait_until(lambda: not worker.busy)
    assert reported.names("test/other") == ["ModelWaiting", "ModelCancelled"]


def test_a_pass_can_be_asked_for_again_while_it_is_being_cancelled(passes):
    worker, reported = passes
    worker.start(["test/slow"])
    reported.pass_event(Embedding, "test/slow")
    worker.cancel("test/slow")
    worker.start(["test/slow"])
    reported.of(ModelFinished)
    assert reported.names("test/slow") == ["ModelWaiting", "ModelCancelled", "ModelWaiting", "ModelFinished"]


def test_everything_is_cancelled(passes):
    worker, reported = passes
    worker.start(["test/loading", "test/colour", "test/other"])
    reported.pass_event(Loading, "test/loading")
    worker.cancel_all()
    for model in ("test/loading", "test/colour", "test/other"):
        reported.of(ModelCancelled, model)
    wait_until(lambda: not worker.busy)


def test_what_a_model_started_is_ended_with_it(passes, tmp_path, monkeypatch):
    monkeypatch.setenv("HELPER_PID_FILE", str(tmp_path / "pid"))
    worker, reported = passes
    worker.start(["test/parent"])
    reported.pass_event(Loaded, "test/parent")
    helper = int((tmp_path / "pid").read_text())
    assert not is_gone(helper)
    worker.close()
    wait_until(lambda: is_gone(helper))


# The end


def test_closing_while_a_model_loads_ends_its_process_and_tells_nothing_more(passes):
    worker, reported = passes
    worker.start(["test/loading", "test/other"])
    reported.pass_event(Loading, "test/loading")
    pid = process_of(worker)
    worker.close()
    assert is_gone(pid)
    told = len(reported.events)
    worker.close()
    time.sleep(0.2)
    assert len(reported.events) == told
    assert not list(collections_folder().iterdir())


def test_closing_a_worker_that_was_never_asked_anything(benchmark):
    worker = PassWorker(benchmark)
    worker.close()
    assert not collections_folder().exists()


@pytest.mark.parametrize("model", ["test/loading", "test/slow"])
def test_a_pass_ends_with_its_console_even_if_that_is_killed(benchmark, model):
    program = (
        f"import sys, time; sys.path.insert(0, {str(TESTS)!r})\n"
        "from pathlib import Path\n"
        "from accuracy_tui.benchmark import load_benchmark\n"
        "from accuracy_tui.pass_worker import PassWorker\n"
        "from support.stand_in_models import PROGRAM\n"
        "def tell(event):\n"
        "    if hasattr(event, 'event'): print(worker._child.pid, flush=True)\n"
        "worker = PassWorker(load_benchmark(Path(sys.argv[1])), tell, program=PROGRAM)\n"
        "worker.start([sys.argv[2]])\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(benchmark.path), model], stdout=subprocess.PIPE, text=True
    ) as console:
        pid = int(console.stdout.readline())
        assert not is_gone(pid)
        console.kill()
    wait_until(lambda: is_gone(pid))
    (left,) = collections_folder().iterdir()
    os.utime(left, (0, 0))  # as if an hour had passed
    assert sweep() == 1
    assert not list(collections_folder().iterdir())


def test_a_console_that_shows_a_pass_imports_nothing_heavy(benchmark):
    program = (
        f"import sys, threading; sys.path.insert(0, {str(TESTS)!r})\n"
        "from pathlib import Path\n"
        "from accuracy_tui.benchmark import load_benchmark\n"
        "from accuracy_tui.pass_worker import PassWorker\n"
        "from accuracy_tui.run_events import ModelFinished\n"
        "done = threading.Event()\n"
        "def tell(event):\n"
        "    if isinstance(event, ModelFinished): done.set()\n"
        "worker = PassWorker(load_benchmark(Path(sys.argv[1])), tell, program=eval(sys.argv[2]))\n"
        "worker.start(['test/colour'])\n"
        "assert done.wait(60)\n"
        "worker.close()\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(benchmark.path), repr(PROGRAM)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "accuracy_tui.pass_child" in loaded
    assert not loaded & {"numpy", "av", "torch", "transformers", "onnxruntime", "textual"}
