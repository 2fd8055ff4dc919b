"""Benchmark files: what is read, and what is refused with its line."""

from pathlib import Path

import pytest

from accuracy_tui.benchmark import DEFAULT_MODELS, FootageSource, Query, load_benchmark
from sentrysearch.embedders import catalogue
from sentrysearch.errors import BadInput
from sentrysearch.types import WindowGrid

DIGEST = "0123456789abcdef" * 4
QUERIES = "queries: {fine: [a red car]}\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "bench.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_maintainers_own():
    path = Path(__file__).parent / "data" / "benchmark.yaml"
    benchmark = load_benchmark(path)
    assert benchmark.name == "benchmark-clip-v1"
    assert benchmark.models == ("qwen8b", "qwen2b", "qwen-cloud", "gemini")
    assert benchmark.window == WindowGrid(30.0, 5.0)
    assert benchmark.footage == (FootageSource(path.parent / "clips/benchmark-clip-v1.mp4", None, None),)
    assert benchmark.judgments == path.parent / "accuracy_judgments.yaml"
    floor = [query.text for query in benchmark.queries if query.group == "floor"]
    fine = [query.text for query in benchmark.queries if query.group == "fine"]
    assert floor == ["car driving on road", "highway driving", "black car"]
    assert fine[:2] == ["white toyota pickup truck", "amazon prime van"]
    assert len(fine) == 12


def test_defaults(write, tmp_path):
    benchmark = load_benchmark(write(QUERIES))
    assert benchmark.name == "bench"
    assert benchmark.footage == ()
    assert benchmark.window == WindowGrid(30.0, 5.0)
    assert benchmark.k == 5
    assert benchmark.models == DEFAULT_MODELS
    assert benchmark.judgments == tmp_path / "accuracy_judgments.yaml"
    assert benchmark.runs == tmp_path / "accuracy_runs"
    assert benchmark.queries == (Query("a red car", "fine"),)


def test_default_models_are_the_embedded_ones():
    assert {catalogue()[model].backend for model in DEFAULT_MODELS} == {"conse"}


def test_fine_queries_come_first_whatever_the_files_order(write):
    text = "queries:\n  floor: [road]\n  fine: [van, truck]\n"
    assert [query.text for query in load_benchmark(write(text)).queries] == ["van", "truck", "road"]


def test_paths_are_relative_to_the_file(write, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/home/someone")
    text = "footage: [a.mp4, sub/b, /abs/c.mp4, ~/d.mp4]\njudgments: ../j.yaml\nruns: r\n" + QUERIES
    benchmark = load_benchmark(write(text))
    assert [source.path for source in benchmark.footage] == [
        tmp_path / "a.mp4",
        tmp_path / "sub/b",
        Path("/abs/c.mp4"),
        Path("/home/someone/d.mp4"),
    ]
    assert benchmark.judgments == tmp_path / "../j.yaml"
    assert benchmark.runs == tmp_path / "r"


def test_footage_by_url_and_with_a_digest(write, tmp_path):
    text = (
        f"footage:\n  - {{url: 'https://example.org/a.mp4', sha256: {DIGEST.upper()}}}\n"
        f"  - path: b://odd.mp4\n    sha256: 'sha256:{DIGEST}'\n" + QUERIES
    )
    assert load_benchmark(write(text)).footage == (
        FootageSource(None, "https://example.org/a.mp4", DIGEST),
        FootageSource(tmp_path / "b://odd.mp4", None, DIGEST),
    )


def test_unquoted_words_stay_what_their_writer_saw(write):
    text = "queries:\n  fine: [no, 1:30, 2024-01-31, on, 010, 007 van]\n"
    texts = [query.text for query in load_benchmark(write(text)).queries]
    assert texts == ["no", "1:30", "2024-01-31", "on", "010", "007 van"]


def test_a_group_whose_queries_are_commented_out(write):
    benchmark = load_benchmark(write("queries:\n  floor:\n    # - road\n  fine: [van]\n"))
    assert [query.text for query in benchmark.queries] == ["van"]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "is empty"),
        ("- a\n", 1, "must be a mapping"),
        ("k: 5\n", None, "has no queries"),
        ("quries: {fine: [a]}\n", 1, "did you mean queries?"),
        ("k: 3\nQueries: {fine: [a]}\n", 2, "did you mean queries?"),
        ("zzz: 1\n" + QUERIES, 1, "known are name"),
        (QUERIES + QUERIES, 2, "stands twice"),
        ("queries: {}\n", 1, "there is no query"),
        ("queries: {fine: []}\n", 1, "there is no query"),
        ("queries: [a]\n", 1, "must be a mapping"),
        ("queries: {fine: a}\n", 1, "must be a list"),
        ("queries: {coarse: [a]}\n", 1, 'unknown key "coarse"'),
        ("queries: {flor: [a]}\n", 1, "did you mean floor?"),
        ("queries:\n  fine:\n    - a\n    - ''\n", 4, "a fine query is empty"),
        ("queries:\n  fine:\n    - a\n    - '  \t '\n", 4, "a fine query is empty"),
        ("queries:\n  fine:\n    - a\n    -\n", 4, "must be text, not nothing"),
        ("queries:\n  fine:\n    - {a: b}\n", 3, "must be text, not a mapping"),
        ("queries:\n  fine:\n    - a\n    - a\n", 4, '"a" stands twice, also on line 3'),
        ("queries:\n  fine: [a]\n  floor: [b, a]\n", 3, "also on line 2"),
        ("k: 0\n" + QUERIES, 1, "k must be from 1"),
        ("k: 100000\n" + QUERIES, 1, "k must be from 1"),
        ("k: 5.0\n" + QUERIES, 1, "k must be a whole number"),
        ("k: '5'\n" + QUERIES, 1, "k must be a whole number"),
        ("k: true\n" + QUERIES, 1, "k must be a whole number"),
        ("models: qwen8b\n" + QUERIES, 1, "models must be a list"),
        ("models: []\n" + QUERIES, 1, "models is an empty list"),
        ("models: [a, '']\n" + QUERIES, 1, "a model's name is empty"),
        ("models: [a, a]\n" + QUERIES, 1, "stands twice"),
        ("models: [[a]]\n" + QUERIES, 1, "must be text, not a list"),
        ("window: 30\n" + QUERIES, 1, "window must be a mapping"),
        ("window: {lenght: 30}\n" + QUERIES, 1, "did you mean length?"),
        ("window: {length: 0:30}\n" + QUERIES, 1, "length must be a number"),
        ("window: {length: .nan}\n" + QUERIES, 1, "length must be a finite number"),
        ("window: {length: .inf}\n" + QUERIES, 1, "length must be a finite number"),
        ("name: x\nwindow: {length: 5, overlap: 5}\n" + QUERIES, 2, "overlap"),
        ("window: {length: 4}\n" + QUERIES, 1, "overlap"),
        ("window: {length: -4, overlap: -5}\n" + QUERIES, 1, "length"),
        ("name: ''\n" + QUERIES, 1, "name is empty"),
        ("judgments: [a]\n" + QUERIES, 1, "judgments must be text"),
        ('runs: "a\\0b"\n' + QUERIES, 1, "NUL"),
        ("footage: []\n" + QUERIES, 1, "empty list"),
        ("footage:\n" + QUERIES, 1, "must be text, not nothing"),
        ("footage: https://example.org/a.mp4\n" + QUERIES, 1, "needs its sha256"),
        ("footage: {url: 'https://example.org/a.mp4'}\n" + QUERIES, 1, "needs its sha256"),
        (f"footage: {{url: 'ftp://e.org/a', sha256: {DIGEST}}}\n" + QUERIES, 1, "must begin with http"),
        (f"footage: {{sha256: {DIGEST}}}\n" + QUERIES, 1, "a path or a url"),
        ("footage: {path: a, url: 'http://b'}\n" + QUERIES, 1, "a path or a url"),
        ("footage: {path: a, sha256: 1234}\n" + QUERIES, 1, "64 hex digits"),
        ("footage: {path: a, sha: b}\n" + QUERIES, 1, "unknown key"),
        ("k: 5\n<<<<<<< HEAD\n" + QUERIES, 2, "merge-conflict marker"),
        ("k: [\n" + QUERIES, None, "not valid YAML"),
    ],
)
def test_refused_with_line_and_reason(write, text, line, reason):
    path = write(text)
    with pytest.raises(BadInput) as caught:
        load_benchmark(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: " if line else str(path))
    assert reason in message
    assert "\n" not in message
    assert path.read_text(encoding="utf-8") == text


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / "absent.yaml", tmp_path / "a\0b"):
        with pytest.raises(BadInput):
            load_benchmark(path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"k: 5\nqueries: {fine: [caf\xe9]}\n")
    with pytest.raises(BadInput, match=r"latin.yaml:2: is not UTF-8"):
        load_benchmark(latin)


def test_hostile_text_in_a_message_is_shown_escaped(write):
    with pytest.raises(BadInput) as caught:
        load_benchmark(write('queries: {fine: ["a\\x1b[31m", "a\\x1b[31m"]}\n'))
    assert "\x1b" not in str(caught.value)
    assert "\\x1b[31m" in str(caught.value)
