"""What export writes: the session's own numbers, whole files, names that a benchmark's name can't misuse."""

import csv
import json

import pytest

from accuracy_tui.atomic import write_atomically
from accuracy_tui.benchmark import Query
from accuracy_tui.export import FORMS, export, file_stem
from accuracy_tui.live import LiveSession
from accuracy_tui.trec import import_qrels
from sentrysearch.errors import BadInput, SentrySearchError
from support.grids import open_session
from support.runs import window

VAN, ROAD = Query("white | van", "fine"), Query("road", "floor")


@pytest.fixture
def session(tmp_path):
    runs = {
        "a": {VAN: [window(0), window(1)], ROAD: [window(3)]},
        "org/b": {VAN: [window(1), window(4)], ROAD: [window(5)]},
    }
    with open_session(tmp_path, runs, [VAN, ROAD]) as opened:
        yield opened


def test_every_form_says_what_the_session_says(session, tmp_path):
    session.put(VAN.text, window(0), True)
    session.put(VAN.text, window(1), False)
    folder = tmp_path / "out" / "deeper"
    paths = export(session, folder, FORMS)
    assert [path.relative_to(folder).as_posix() for path in paths] == [
        "trial.md",
        "trial.csv",
        "trial.json",
        "trial.qrels.txt",
        "trial.trec/a.run",
        f"trial.trec/{paths[-1].name}",
    ]
    assert {path for path in folder.rglob("*") if path.is_file()} == set(paths)
    by_model = {summary.model: summary for summary in session.summaries()}
    written = json.loads(paths[2].read_text())
    assert [one["model"] for one in written["models"]] == ["a", "org/b"]
    with paths[1].open(newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file) if not row.get("query")}
    for model, summary in by_model.items():
        low, high = summary.precision[1]
        values = [float(rows[model][f"P@1 fine {end}"]) for end in ("low", "high")]
        assert values == [low, high]
    assert "white \\| van" in paths[0].read_text()
    assert [(one.query, one.window, one.value) for one in import_qrels(paths[3])] == [
        (VAN.text, window(0), True),
        (VAN.text, window(1), False),
    ]
    assert len(paths[4].read_text().splitlines()) == 3


def test_only_what_was_asked_for_is_written_and_replaces_the_last_export(session, tmp_path):
    foreign = tmp_path / "notes.md"
    foreign.write_text("mine")
    [path] = export(session, tmp_path, ["markdown"])
    before = path.read_text()
    session.put(VAN.text, window(0), True)
    assert export(session, tmp_path, ["markdown"]) == [path]
    assert path.read_text() != before and foreign.read_text() == "mine"
    assert not list(tmp_path.glob("trial.csv")) and not list(tmp_path.glob("*.tmp"))


def test_a_form_that_does_not_exist_writes_nothing(session, tmp_path):
    with pytest.raises(BadInput, match="no form 'pdf'"):
        export(session, tmp_path / "out", ["markdown", "pdf"])
    assert not (tmp_path / "out").exists()


def test_verdicts_that_are_not_known_yet_write_nothing(session, tmp_path):
    for run in tmp_path.rglob("*.json"):
        run.unlink()
    with LiveSession.open(session.benchmark) as empty:
        assert empty.judgments is None
        with pytest.raises(BadInput, match="aren't known yet"):
            export(empty, tmp_path / "out", ["markdown", "qrels"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_that_cannot_be_is_one_line(session, tmp_path, form):
    (tmp_path / "file").write_text("")
    with pytest.raises(SentrySearchError) as raised:
        export(session, tmp_path / "file" / "out", [form])
    assert "cannot be written" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("clip v1", "clip-v1"),
        ("../../etc/passwd", "etc-passwd"),
        ("a/b\\c\nd\x1b[0m", "a-b-c-d--0m"),
        ("..", "benchmark"),
        ("", "benchmark"),
        ("Straße", "Straße"),
    ],
)
def test_a_benchmarks_name_as_a_files(name, stem):
    assert file_stem(name) == stem


def test_a_long_name_still_fits_a_file(tmp_path):
    stem = file_stem("\U00020000" * 300)
    write_atomically(tmp_path / f"{stem}.qrels.txt", "")
