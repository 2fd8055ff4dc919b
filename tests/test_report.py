"""The table in its four formats."""

import csv
import io
import json
import re
import subprocess
import sys

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Grid
from accuracy_tui.metrics import Bounds
from accuracy_tui.report import FORMATS, build_report, interval, number, render
from accuracy_tui.report_text import cells
from accuracy_tui.verdicts import Verdict
from sentrysearch.errors import BadInput
from support.runs import looker, make_run, window

VAN, TRUCK, ROAD = Query("amazon prime van", "fine"), Query("truck", "fine"), Query("road", "floor")
QUERIES = [VAN, TRUCK, ROAD]


def windows(*indices):
    return [window(index) for index in indices]


@pytest.fixture
def report():
    """good: van ●○●○○, truck ●●○○○, road ●. open: van ○·●○○, truck failed, road ·. key: failed, no run."""
    good = make_run("good", {VAN: windows(1, 2, 3, 4, 5), TRUCK: windows(1, 2, 3, 4, 5), ROAD: windows(1)})
    partly = make_run("open", {VAN: windows(2, 9, 1, 4, 5), TRUCK: "service down", ROAD: windows(8)})
    true = {(VAN.text, 1), (VAN.text, 3), (TRUCK.text, 1), (TRUCK.text, 2), (ROAD.text, 1)}
    verdicts = {
        (query.text, window(index)): (query.text, index) in true for query in QUERIES for index in range(1, 6)
    }
    verdicts[VAN.text, window(4)] = Verdict(False, implied=True)
    grid = Grid([good, partly], QUERIES, looker(verdicts), k=5, models=["good", "open", "key", "later"])
    return build_report(grid, failures={"key": "no key: GEMINI_API_KEY is not set"}, notes=["a note"])


def test_text(report):
    assert render(report, "text") == (
        "           fine       fine       fine       fine      floor\n"
        "model       P@1        P@3        P@5        MRR        P@1  Judged@5\n"
        "good       1.00*      0.67*      0.40*      1.00*      1.00*     1.00\n"
        "open       0.00  0.17–0.33  0.10–0.20  0.17–0.25  0.00–1.00      0.40\n"
        "key           –          –          –          –          –         –\n"
        "later         –          –          –          –          –         –\n"
        "\n"
        "* best of its column whatever the unjudged windows turn out to be\n"
        'open: "truck" failed and counts as 0\n'
        "key failed: no key: GEMINI_API_KEY is not set\n"
        "later did not run\n"
        "2 of 13 pool items are unjudged; ranges show what they leave open\n"
        "a note\n"
    )


def test_text_fits_a_terminal_and_does_not_move_when_verdicts_come_in():
    run = make_run("conse-lite2", {VAN: windows(1, 2, 3, 4, 5), ROAD: windows(1)})
    lines = []
    for verdicts in ({}, {(VAN.text, window(1)): True}, {(VAN.text, window(i)): False for i in range(1, 6)}):
        grid = Grid([run], [VAN, ROAD], looker(verdicts), k=5, models=["conse-lite2", "Qwen-3-Embedding"])
        text = render(build_report(grid), "text").splitlines()
        assert max(map(len, text)) <= 80
        lines.append(text)
    assert len({lines[index][0] for index in range(3)}) == 1
    ends = [{match.end() for match in re.finditer(r"\d\.\d\d(?!–)", table[2])} for table in lines]
    assert ends[0] == ends[1] == ends[2]
    assert len(ends[0]) == 6


def test_text_per_query(report):
    text = render(report, "text", per_query=True)
    assert "\n─ fine ───" in text and "\n─ floor ──" in text
    rows = [line.split() for line in text.splitlines()]
    at = rows.index(["amazon", "prime", "van"])
    assert rows[at + 1] == ["good", "●○●◌○", "1.00", "0.67", "0.40", "1.00", "1.00"]
    assert rows[at + 2] == ["open", "○·●◌○", "0.00", "0.33–0.67", "0.20–0.40", "0.33–0.50", "0.80"]
    assert rows[at + 3] == ["key", "–", "–", "–", "–", "–"]
    truck = rows.index(["truck"])
    assert rows[truck + 2] == ["open", "!", "0.00", "0.00", "0.00", "0.00", "–", "failed:", "service", "down"]


def test_markdown(report):
    lines = render(report, "markdown").splitlines()
    assert lines[:4] == [
        "| model | P@1 fine | P@3 fine | P@5 fine | MRR fine | P@1 floor | Judged@5 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| good | **1.00** | **0.67** | **0.40** | **1.00** | **1.00** | 1.00 |",
        "| open | 0.00 | 0.17–0.33 | 0.10–0.20 | 0.17–0.25 | 0.00–1.00 | 0.40 |",
    ]
    assert lines[-1] == "- a note"


def test_markdown_per_query(report):
    text = render(report, "markdown", per_query=True)
    row = "| fine | amazon prime van | open | ○·●◌○ | 0.00 | 0.33–0.67 | 0.20–0.40 | 0.33–0.50 | 0.80 |"
    assert row in text
    assert "| fine | truck | open | failed: service down | 0.00 |" in text


def test_csv(report):
    rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
    assert [row["model"] for row in rows] == ["good", "open", "key", "later"]
    assert [row["status"] for row in rows] == ["ran", "ran", "failed", "no run"]
    assert float(rows[1]["P@3 fine low"]) == pytest.approx(1 / 6)
    assert float(rows[1]["P@3 fine high"]) == pytest.approx(1 / 3)
    assert (rows[1]["P@1 floor low"], rows[1]["P@1 floor high"]) == ("0.0", "1.0")
    assert rows[2]["MRR fine low"] == rows[2]["Judged@5"] == ""
    assert rows[2]["reason"] == "no key: GEMINI_API_KEY is not set"


def test_csv_per_query(report):
    rows = list(csv.DictReader(io.StringIO(render(report, "csv", per_query=True))))
    assert len(rows) == 4 + 3 * 4
    (row,) = [row for row in rows if row["query"] == VAN.text and row["model"] == "open"]
    assert row["ranks"] == "○·●◌○"
    assert (float(row["RR low"]), float(row["RR high"])) == pytest.approx((1 / 3, 1 / 2))
    assert row["MRR fine low"] == ""


def test_json(report):
    document = json.loads(render(report, "json", per_query=True))
    assert document["k"] == 5
    assert document["queries"] == {"fine": 2, "floor": 1}
    assert document["pool"] == {"items": 13, "unjudged": 2}
    good, partly, key, later = document["models"]
    assert good["best"] == ["P@1 fine", "P@3 fine", "P@5 fine", "MRR fine", "P@1 floor"]
    assert partly["P@3 fine"] == {"low": pytest.approx(1 / 6), "high": pytest.approx(1 / 3)}
    assert partly["failed_queries"] == ["truck"]
    assert (key["status"], later["status"]) == ("failed", "no run")
    assert key["MRR fine"] is None
    assert good["run"] == {"revision": "1", "created": "2025-01-31T12:00:00+00:00", "k": 5}
    cell = next(row for row in document["per_query"] if row["query"] == VAN.text and row["model"] == "open")
    assert cell["ranks"] == ["false", "unjudged", "true", "implied false", "false"]
    assert cell["RR"] == {"low": pytest.approx(1 / 3), "high": 0.5}
    assert "per_query" not in json.loads(render(report, "json"))


def test_another_k_changes_the_columns():
    run = make_run("m", {VAN: windows(*range(10)), ROAD: windows(1)}, k=10)
    text = render(build_report(Grid([run], [VAN, ROAD], looker({}), k=10)), "text")
    assert text.splitlines()[1].split() == ["model", "P@1", "P@3", "P@5", "P@10", "MRR", "P@1", "Judged@10"]
    text = render(build_report(Grid([run], [VAN, ROAD], looker({}), k=2)), "text")
    assert text.splitlines()[1].split() == ["model", "P@1", "P@2", "MRR", "P@1", "Judged@2"]


def test_a_run_less_deep_than_k_is_said():
    run = make_run("m", {VAN: windows(1, 2, 3)}, k=3)
    text = render(build_report(Grid([run], [VAN], looker({}), k=5)), "text")
    assert "m: its run has only 3 of 5 ranks, the others count as 0" in text


def test_queries_added_after_the_run_are_said():
    run = make_run("m", {VAN: windows(1)})
    text = render(build_report(Grid([run], QUERIES, looker({}), k=5)), "text")
    assert 'm: "truck", "road" did not run and count as 0' in text


def test_a_model_that_failed_now_keeps_the_numbers_of_its_earlier_run():
    grid = Grid([make_run("m", {VAN: windows(1)})], [VAN], looker({(VAN.text, window(1)): True}), k=1)
    text = render(build_report(grid, failures={"m": "out of memory", "gone": "no such model"}), "text")
    assert "m failed: out of memory; shown is its earlier run" in text
    assert "gone failed: no such model" in text
    assert text.splitlines()[2].split() == ["m", "1.00", "1.00", "–", "1.00"]


def test_everything_judged_is_said():
    grid = Grid([make_run("m", {VAN: windows(1)})], [VAN], looker({(VAN.text, window(1)): True}), k=1)
    assert "all 1 pool items are judged" in render(build_report(grid), "text")


@pytest.mark.parametrize(
    ("first", "second", "best"),
    [
        ("●", "○", {"first"}),
        ("●", "·", {"first"}),  # the other can only draw level
        ("·", "·", set()),
        ("●", "●", set()),  # equal: nothing to mark
        ("○", "·", {"second"}),
    ],
)
def test_the_best_is_marked_only_when_no_verdict_can_change_it(first, second, best):
    meaning = {"●": True, "○": False, "·": None}
    look = looker(
        {(VAN.text, window(1)): Verdict(meaning[first]), (VAN.text, window(2)): Verdict(meaning[second])}
    )
    runs = [make_run("first", {VAN: windows(1)}), make_run("second", {VAN: windows(2)})]
    report = build_report(Grid(runs, [VAN], look, k=1))
    assert report.best(report.measures[0]) == best


def test_rounding_never_shows_a_limit_that_is_not_reached():
    assert [number(value) for value in (0.0, 0.001, 0.004, 0.125, 0.999, 1.0, 1 - 1e-16)] == [
        "0.00",
        "0.01",
        "0.01",
        "0.12",
        "0.99",
        "1.00",
        "1.00",
    ]
    assert interval(Bounds(0.3, 0.5)) == "0.30–0.50"
    assert interval(Bounds(0.3, 0.3)) == "0.30"
    assert interval(None) == "–"


HOSTILE = "=cmd|'/c calc'!A1 | <b>x</b> [a](b) `c` \x1b[31m\x9b2J\n車\u202e"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("per_query", [False, True])
def test_hostile_text(form, per_query):
    query = Query(HOSTILE, "fine")
    run = make_run(HOSTILE, {query: HOSTILE}, footage=[HOSTILE])
    grid = Grid([run], [query], looker({}), k=5, models=["+1", HOSTILE])
    text = render(build_report(grid, failures={"+1": HOSTILE}, notes=[HOSTILE]), form, per_query=per_query)
    assert not set(text) & set("\x1b\x9b\u202e\r")
    if form == "markdown":
        tables = [line for line in text.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in tables[:4]}) == 1
        assert not set(re.sub(r"\\.", "", text)) & set("<>[]`*")
    elif form == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert len({len(row) for row in rows}) == 1
        assert not any(field[:1] in "=+-@" for row in rows for field in row if field)
        assert any(field.startswith("'=cmd") for row in rows for field in row)
    elif form == "json":
        assert HOSTILE in [model["model"] for model in json.loads(text)["models"]]


def test_wide_and_combining_characters_keep_the_columns():
    models = ["車車", "e\u0301te", "plain"]
    runs = [make_run(model, {VAN: windows(1)}) for model in models]
    lines = render(build_report(Grid(runs, [VAN], looker({}), k=1)), "text").splitlines()
    assert len({cells(line) for line in lines[2:5]}) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_to_show(form):
    assert render(build_report(Grid([], [VAN], looker({}), k=5)), form, per_query=True).endswith("\n")


def test_no_such_format(report):
    with pytest.raises(BadInput, match="no format 'html'"):
        render(report, "html")


def test_a_small_table_imports_neither_numpy_nor_anything_larger():
    """In a fresh interpreter, since here they are loaded already."""
    program = """
import sys
from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Grid
from accuracy_tui.report import FORMATS, build_report, render
from support.runs import looker, make_run, window
query = Query("van", "fine")
report = build_report(Grid([make_run("m", {query: [window(1)]})], [query], looker({}), k=5))
for form in FORMATS:
    assert "0.00" in render(report, form, per_query=True) or form in ("csv", "json")
print(sorted({"numpy", "torch", "textual", "transformers"} & sys.modules.keys()))
"""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    output = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (output.stdout, output.stderr) == ("[]\n", "")
