"""TREC files: trec_eval's tools read the table's numbers from them, and verdicts come back unchanged."""

from collections import defaultdict

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from accuracy_tui.benchmark import Query
from accuracy_tui.grid import Grid
from accuracy_tui.metrics import precision_at, reciprocal_rank
from accuracy_tui.runs import Run, RunQuery
from accuracy_tui.summary import summarise
from accuracy_tui.trec import (
    Judged,
    document_id,
    export_qrels,
    export_runs,
    format_qrels,
    format_trec_run,
    import_qrels,
    topic_id,
)
from accuracy_tui.verdicts import Verdict
from sentrysearch.errors import BadInput
from sentrysearch.types import Window
from support.runs import looker, make_run, ranked, window

VAN, TRUCK, ROAD = Query("amazon prime van", "fine"), Query("truck", "fine"), Query("road", "floor")
MEASURES = [ir_measures.P @ 1, ir_measures.P @ 3, ir_measures.P @ 5, ir_measures.RR]
OURS = {
    "P@1": lambda relevant: precision_at(relevant, 1),
    "P@3": lambda relevant: precision_at(relevant, 3),
    "P@5": lambda relevant: precision_at(relevant, 5),
    "RR": reciprocal_rank,
}

verdicts_of_any_kind = st.sampled_from(
    [Verdict(None), Verdict(True), Verdict(False), Verdict(True, implied=True), Verdict(False, implied=True)]
)


@st.composite
def benchmarks(draw):
    """Queries, runs with ties, short, empty, failed and missing queries, and verdicts with gaps."""
    texts = draw(
        st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=5, unique=True)
    )
    queries = [Query(text, draw(st.sampled_from(["fine", "floor"]))) for text in texts]
    names = draw(
        st.lists(st.sampled_from(["a.mp4", "b c.mp4", "#1.mp4", "d/é@2.mp4"]), min_size=1, unique=True)
    )
    windows = [window(index, name) for name in names for index in range(12)]
    depth = draw(st.sampled_from([1, 3, 5, 8]))
    runs = []
    for model in draw(st.lists(st.sampled_from(["m", "org/m 2", "#x"]), min_size=1, unique=True)):
        run = make_run(model, {}, k=depth, footage=names)
        found = []
        for query in queries:
            kind = draw(st.sampled_from(["hits", "hits", "hits", "failed", "missing"]))
            if kind == "failed":
                found.append(RunQuery(query.text, query.group, (), "service down"))
            elif kind == "hits":
                chosen = draw(st.lists(st.sampled_from(windows), max_size=depth, unique=True))
                scores = draw(
                    st.lists(
                        st.sampled_from([0.5, 0.5, 0.500001, 0.1, -0.2]),
                        min_size=len(chosen),
                        max_size=len(chosen),
                    )
                )
                hits = ranked(chosen, sorted(scores, reverse=True))
                found.append(RunQuery(query.text, query.group, hits))
        fields = {name: getattr(run, name) for name in Run.__slots__}
        runs.append(Run(**{**fields, "queries": tuple(found)}))
    verdicts = {
        (text, found): draw(verdicts_of_any_kind)
        for text in texts
        for found in draw(st.lists(st.sampled_from(windows), unique=True))
    }
    return queries, runs, verdicts


def read_qrels(path):
    with path.open() as file:
        return pytrec_eval.parse_qrel(file)


def read_run(path):
    with path.open() as file:
        return pytrec_eval.parse_run(file)


@settings(max_examples=150, deadline=None)
@given(benchmarks())
def test_the_tools_give_the_tables_lower_bounds(tmp_path_factory, drawn):
    queries, runs, verdicts = drawn
    folder = tmp_path_factory.mktemp("trec")
    look = looker(verdicts)
    grid = Grid(runs, queries, look, k=5)
    export_qrels(folder / "qrels", runs, queries, look)
    paths = export_runs(folder / "runs", runs, queries)
    texts = {topic_id(query.text): query.text for query in queries}
    assert len(texts) == len(queries)
    for run, path, summary in zip(runs, paths, summarise(grid), strict=True):
        by_ir_measures = defaultdict(dict)
        for metric in ir_measures.iter_calc(
            MEASURES,
            ir_measures.read_trec_qrels(str(folder / "qrels")),
            list(ir_measures.read_trec_run(str(path))),
        ):
            by_ir_measures[metric.query_id][str(metric.measure)] = metric.value
        evaluator = pytrec_eval.RelevanceEvaluator(read_qrels(folder / "qrels"), {"P.1,3,5", "recip_rank"})
        by_pytrec_eval = {
            topic: {
                "P@1": values["P_1"],
                "P@3": values["P_3"],
                "P@5": values["P_5"],
                "RR": values["recip_rank"],
            }
            for topic, values in evaluator.evaluate(read_run(path)).items()
        }
        for theirs in (by_ir_measures, by_pytrec_eval):
            assert theirs.keys() == texts.keys()
            for topic, text in texts.items():
                cell = grid.cell(run.model, text)
                for name, metric in OURS.items():
                    assert theirs[topic][name] == pytest.approx(cell.bounds(metric).low, abs=1e-9)
            fine = [topic_id(query.text) for query in queries if query.group == "fine"]
            floor = [topic_id(query.text) for query in queries if query.group == "floor"]
            for key, name, topics in [
                ("P@1 fine", "P@1", fine),
                ("P@3 fine", "P@3", fine),
                ("P@5 fine", "P@5", fine),
                ("MRR fine", "RR", fine),
                ("P@1 floor", "P@1", floor),
            ]:
                if topics:
                    mean = sum(theirs[topic][name] for topic in topics) / len(topics)
                    assert mean == pytest.approx(summary.values[key].low, abs=1e-9)
        whole = ir_measures.calc_aggregate(
            MEASURES,
            ir_measures.read_trec_qrels(str(folder / "qrels")),
            ir_measures.read_trec_run(str(path)),
        )
        for measure in MEASURES:
            cells = [grid.cell(run.model, query.text).bounds(OURS[str(measure)]).low for query in queries]
            assert whole[measure] == pytest.approx(sum(cells) / len(cells), abs=1e-9)


@settings(deadline=None)
@given(benchmarks())
def test_explicit_verdicts_come_back_and_implied_ones_do_not(tmp_path_factory, drawn):
    queries, runs, verdicts = drawn
    path = tmp_path_factory.mktemp("qrels") / "qrels"
    explicit = {
        Judged(query, found, verdict.value)
        for (query, found), verdict in verdicts.items()
        if verdict.value is not None and not verdict.implied
    }
    export_qrels(path, runs, queries, looker(verdicts), explicit=explicit)
    assert set(import_qrels(path)) == explicit


@settings(deadline=None)
@given(st.text(min_size=1))
def test_ids_have_no_white_space_and_turn_back(text):
    topic = topic_id(text)
    assert topic.split() == [topic] and topic.isascii() and topic[0] != "#"
    document = document_id(Window(text, 0.3, 12.0))
    assert document.split() == [document] and document.isascii() and document[0] != "#"
    assert document.endswith("@0.3-12.0")


def test_what_is_written():
    run = make_run("org/model", {VAN: [window(2), window(1)], TRUCK: "service down"})
    look = looker(
        {
            ("amazon prime van", window(1)): True,
            ("amazon prime van", window(2)): Verdict(False, implied=True),
            ("road", window(9)): True,
        }
    )
    assert format_trec_run(run, [VAN, TRUCK]) == (
        "amazon+prime+van Q0 clip.mp4@20.0-30.0 1 2 org%2Fmodel\n"
        "amazon+prime+van Q0 clip.mp4@10.0-20.0 2 1 org%2Fmodel\n"
        "truck Q0 no-hit 1 1 org%2Fmodel\n"
    )
    assert format_qrels([run], [VAN, TRUCK], look) == (
        "amazon+prime+van 0 no-hit 0\n"
        "amazon+prime+van 0 clip.mp4@10.0-20.0 1\n"
        "amazon+prime+van implied clip.mp4@20.0-30.0 0\n"
        "truck 0 no-hit 0\n"
    )
    assert "implied" not in format_qrels([run], [VAN, TRUCK], look, implied=False)


def test_verdicts_outside_the_pool_are_written_when_given_but_not_of_other_queries():
    run = make_run("m", {VAN: [window(1)]})
    explicit = [Judged("amazon prime van", window(7), True), Judged("removed", window(1), True)]
    assert format_qrels([run], [VAN], looker({}), explicit=explicit) == (
        "amazon+prime+van 0 no-hit 0\namazon+prime+van 0 clip.mp4@70.0-80.0 1\n"
    )


def test_a_percent_sign_and_a_plus_are_not_taken_for_codes():
    texts = ["a b", "a+b", "a%20b", "a%2Bb", "#1", "é", "車"]
    assert len({topic_id(text) for text in texts}) == len(texts)


GOOD = "amazon+prime+van 0 clip.mp4@10.0-20.0 1\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("amazon+prime+van 0 clip.mp4@20.0-30.0", "3 columns"),
        ("amazon prime van 0 clip.mp4@20.0-30.0 1", "6 columns"),
        ("amazon+prime+van 0 clip.mp4@20.0-30.0 yes", 'relevance "yes" is not a whole number'),
        ("amazon+prime+van 0 clip.mp4@20.0-30.0 0.5", 'relevance "0.5" is not a whole number'),
        ("amazon+prime+van 0 clip.mp4@20.0-30.0 ٣", "is not a whole number"),
        ("amazon+prime+van 0 clip.mp4@20.0-30.0 -1", "neither true nor false"),
        ("red+car 0 clip.mp4@20.0-30.0 1", 'unknown topic "red+car"'),
        ("301:x 0 clip.mp4@20.0-30.0 1", "is no topic id"),
        ("%ff 0 clip.mp4@20.0-30.0 1", "is not percent-encoded UTF-8"),
        ("amazon+prime+van 0 other.mp4@20.0-30.0 1", 'unknown document "other.mp4@20.0-30.0"'),
        ("amazon+prime+van 0 FBIS3-1 1", "is no window id"),
        ("amazon+prime+van 0 @20.0-30.0 1", "is no window id"),
        ("amazon+prime+van 0 20.0-30.0 1", "is no window id"),
        ("amazon+prime+van 0 clip.mp4@30.0-20.0 1", "is no window id"),
        ("amazon+prime+van 0 clip.mp4@20-30 1", "is no window id"),
        ("amazon+prime+van 0 clip.mp4@10.0-20.0 1", "judged for this topic on line 1 already"),
        ("amazon+prime+van 0 clip.mp4@10.0-20.0 0", "judged for this topic on line 1 already"),
        ("<<<<<<< HEAD", "2 columns"),
    ],
)
def test_a_malformed_line_is_refused(tmp_path, line, reason):
    path = tmp_path / "qrels"
    path.write_text(f"{GOOD}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        import_qrels(path, queries={"amazon prime van"}, footage={"clip.mp4"})
    assert str(caught.value).startswith(f"{path}:3: ")
    assert reason in str(caught.value)


def test_graded_relevance_windows_line_ends_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "qrels"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace(" 1\n", "\t3\r\n").encode() + b"\r\nroad 0 a@0.0-1.0 0")
    assert import_qrels(path) == [
        Judged("amazon prime van", window(1), True),
        Judged("road", Window("a", 0.0, 1.0), False),
    ]


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "qrels"
    path.write_bytes(GOOD.encode() + b"\xff 0 a@0.0-1.0 1\n")
    with pytest.raises(BadInput, match=r"qrels:2: is not UTF-8"):
        import_qrels(path)
