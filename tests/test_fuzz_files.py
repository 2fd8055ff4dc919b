"""Fuzzed benchmark, run and qrels files: a right result or one clear line, and the file as it was."""

import copy
import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accuracy_tui.benchmark import MAX_K, Query, load_benchmark
from accuracy_tui.runs import format_run, load_run, load_runs, save_run
from accuracy_tui.trec import import_qrels, topic_id
from sentrysearch.errors import BadInput
from sentrysearch.text import printable
from support.runs import make_run, window

BENCHMARK = """\
# a comment
name: clips
footage:
  - {url: "https://example.org/a.mp4", sha256: DIGEST}
  - b.mp4
window: {length: 30, overlap: 5}
k: 5
models: [qwen8b, "gemini"]
judgments: j.yaml
runs: r
queries:
  floor: [car driving on road]
  fine:
    - white "van"
    - 'it''s'
""".replace("DIGEST", "0123456789abcdef" * 4)
RUN = make_run(
    "m",
    {
        Query("van", "fine"): [window(3), window(1, "é.mp4"), window(2)],
        Query("truck", "fine"): "service down",
        Query("road", "floor"): [],
    },
    footage=["clip.mp4", "é.mp4"],
)
QRELS = "amazon+prime+van 0 no-hit 0\namazon+prime+van 0 clip.mp4@10.0-20.0 1\nroad implied a%20b@0.5-1.0 0\n"

SNIPPETS = st.sampled_from(
    [
        *"\0\t\n\r :-,[]{}#&*!|>'\"%@`~?<=\x1b\x85\ufeff\u2028\ud800",
        *("<<<<<<< HEAD\n", "*a", "&a ", "!!python/object:a ", "- ", "k: 5\n", "[" * 200, "9" * 5000),
        *("1e999", "-1", ".nan", "NaN", "Infinity", "null", "true", "no", "1:30"),
    ]
)


@st.composite
def mangled(draw, text):
    """The text with a few cuts, copies and insertions."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        middle = draw(st.one_of(st.just(""), SNIPPETS, st.text(max_size=5), st.just(text[start:end] * 2)))
        text = text[:start] + middle + text[end:]
    return text.encode("utf-8", "surrogatepass")


def outcome(load, path, data):
    """What ``load`` makes of the bytes; None for a clear refusal. Anything else fails the test."""
    path.write_bytes(data)
    try:
        result = load(path)
    except BadInput as error:
        message = str(error)
        assert message == printable(message)
        assert message.startswith(printable(path))
        assert len(message) > len(str(path)) + 5
        result = None
    assert path.read_bytes() == data
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    return result


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "file"


def check_benchmark(benchmark):
    if benchmark is not None:
        texts = [query.text for query in benchmark.queries]
        assert texts and len(set(texts)) == len(texts) and all(text.strip() for text in texts)
        assert {query.group for query in benchmark.queries} <= {"fine", "floor"}
        assert 1 <= benchmark.k <= MAX_K
        assert 0 <= benchmark.window.overlap < benchmark.window.length < math.inf
        assert all(source.sha256 for source in benchmark.footage if source.url)
        assert benchmark.models and benchmark.judgments.is_absolute() and benchmark.runs.is_absolute()


fuzzed = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@fuzzed
@given(data=mangled(BENCHMARK))
def test_mangled_benchmarks(path, data):
    check_benchmark(outcome(load_benchmark, path, data))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    *("name", "footage", "window", "k", "models", "judgments", "runs", "queries"),
    *("fine", "floor", "path", "url", "sha256", "length", "overlap"),
]


@fuzzed
@given(
    document=st.dictionaries(
        st.sampled_from(NAMES),
        VALUES
        | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)
        | st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3), max_size=3),
    )
)
def test_benchmarks_of_the_wrong_shape(path, document):
    """JSON is YAML: any shape under the known keys."""
    check_benchmark(outcome(load_benchmark, path, json.dumps(document).encode()))


@fuzzed
@given(data=st.binary(max_size=60))
def test_bytes_that_are_nothing_at_all(path, data):
    check_benchmark(outcome(load_benchmark, path, data))
    assert outcome(load_run, path, data) is None
    outcome(import_qrels, path, data)


@fuzzed
@given(data=mangled(format_run(RUN)))
def test_mangled_runs(path, tmp_path_factory, data):
    check_run(outcome(load_run, path, data), tmp_path_factory)


@fuzzed
@given(data=st.data())
def test_runs_with_something_of_the_wrong_kind(path, tmp_path_factory, data):
    """Any value in place of any other, also where a number or list is expected."""
    document = json.loads(format_run(RUN))
    for _ in range(data.draw(st.integers(1, 2))):
        places = list(_places(document))
        parent, key = data.draw(st.sampled_from(places))
        parent[key] = data.draw(VALUES | st.sampled_from([copy.deepcopy(other[at]) for other, at in places]))
    check_run(outcome(load_run, path, json.dumps(document).encode()), tmp_path_factory)


def _places(node):
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(items):
        yield node, key
        yield from _places(value)


def check_run(run, tmp_path_factory):
    if run is not None:
        for query in run.queries:
            assert [hit.rank for hit in query.hits] == list(range(1, len(query.hits) + 1))
            scores = [hit.score for hit in query.hits]
            assert scores == sorted(scores, reverse=True) and all(map(math.isfinite, scores))
            assert len({hit.window for hit in query.hits}) == len(query.hits) <= run.k
            assert all(0 <= hit.window.start < hit.window.end for hit in query.hits)
        folder = tmp_path_factory.mktemp("saved")
        saved = save_run(run, folder)
        again = load_run(saved)
        assert load_runs(folder).runs == (again,)
        assert save_run(again, folder).read_bytes() == saved.read_bytes()
        assert [[hit.window for hit in query.hits] for query in again.queries] == [
            [hit.window for hit in query.hits] for query in run.queries
        ]


@fuzzed
@given(data=mangled(QRELS))
def test_mangled_qrels(path, data):
    judged = outcome(import_qrels, path, data)
    if judged is not None:
        assert len({(query, found) for query, found, _ in judged}) == len(judged)
        assert all(topic_id(query).encode() in data for query, _, _ in judged)
