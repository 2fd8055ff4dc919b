"""Run files: a round trip, a layout a diff can show, strict reading, names that can't collide or escape."""

import dataclasses
import json
import os

import pytest

from accuracy_tui.benchmark import Query
from accuracy_tui.runs import load_run, load_runs, run_file_name, save_run
from sentrysearch.errors import BadInput, SentrySearchError
from sentrysearch.types import Window
from support.runs import FOOTAGE, make_run, ranked, window

VAN = Query("amazon prime van", "fine")
ROAD = Query("car driving on road", "floor")


@pytest.fixture
def run():
    return make_run("qwen8b", {VAN: [window(3), window(1)], ROAD: "service down"})


def test_round_trip(run, tmp_path):
    path = save_run(run, tmp_path / "new" / "runs")
    assert path == tmp_path / "new" / "runs" / "qwen8b.json"
    assert load_run(path) == run
    assert [entry.name for entry in path.parent.iterdir()] == ["qwen8b.json"]


def test_text_of_every_kind_survives(tmp_path):
    names = ("a\nb.mp4", "caf\xe9 车.mp4", "\udc80bytes.mp4", 'q"uo\\te')
    queries = {Query(f"line\nbreak {name} \x1b[31m", "fine"): [window(1, name)] for name in names}
    run = make_run("a model\t", queries, footage=names)
    path = save_run(run, tmp_path)
    assert load_run(path) == run
    assert "\x1b" not in path.read_text()
    assert "caf\xe9 车.mp4" in path.read_text()


def test_the_layout(run, tmp_path):
    text = save_run(run, tmp_path).read_text()
    assert json.loads(text) == {
        "schema": 1,
        "model": "qwen8b",
        "revision": "1",
        "options": {"dimension": 8},
        "footage": [{"name": "clip.mp4", "fingerprint": f"sha256:{0:064x}", "duration": 900.0}],
        "window": {"length": 10.0, "overlap": 0.0},
        "k": 5,
        "created": "2025-01-31T12:00:00+00:00",
        "timings": {"decode": 1.5, "embed": 2.25},
        "queries": [
            {
                "query": "amazon prime van",
                "group": "fine",
                "hits": [
                    {"footage": "clip.mp4", "start": 30.0, "end": 40.0, "score": 0.9},
                    {"footage": "clip.mp4", "start": 10.0, "end": 20.0, "score": 0.89},
                ],
            },
            {"query": "car driving on road", "group": "floor", "hits": [], "error": "service down"},
        ],
    }


def test_a_changed_hit_changes_one_line(run, tmp_path):
    before = save_run(run, tmp_path).read_text().splitlines()
    query = dataclasses.replace(run.queries[0], hits=ranked([window(3), window(2)]))
    changed = dataclasses.replace(run, queries=(query, run.queries[1]))
    after = save_run(changed, tmp_path).read_text().splitlines()
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_the_same_run_is_the_same_text(run, tmp_path):
    shuffled = dataclasses.replace(
        run, timings=dict(reversed(run.timings.items())), options=dict(reversed(run.options.items()))
    )
    first = save_run(run, tmp_path / "a").read_bytes()
    assert save_run(shuffled, tmp_path / "b").read_bytes() == first


def test_scores_are_rounded_and_have_no_negative_zero(tmp_path):
    run = make_run("m", {VAN: []})
    query = dataclasses.replace(run.queries[0], hits=ranked([window(1), window(2)], [0.1234567, -0.0]))
    text = save_run(dataclasses.replace(run, queries=(query,)), tmp_path).read_text()
    assert '"score": 0.123457}' in text
    assert '"score": 0.0}' in text


def test_ties_keep_the_runs_order(tmp_path):
    run = make_run("m", {VAN: []})
    hits = ranked([window(5), window(2), window(9)], [0.5, 0.5, 0.5])
    run = dataclasses.replace(run, queries=(dataclasses.replace(run.queries[0], hits=hits),))
    assert [hit.window for hit in load_run(save_run(run, tmp_path)).queries[0].hits] == [
        window(5),
        window(2),
        window(9),
    ]


def document(run, tmp_path):
    return json.loads(save_run(run, tmp_path).read_text())


def hit(changes):
    def change(document):
        document["queries"][0]["hits"][0].update(changes)

    return change


def drop(key):
    return lambda document: document.pop(key)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.update(schema=2), "schema: must be 1, not 2"),
        (drop("schema"), "schema: must be 1, not null"),
        (drop("timings"), '"timings" is missing'),
        (lambda d: d.update(extra=1), 'unknown key "extra"'),
        (lambda d: d.update(k=0), "k: must be a whole number"),
        (lambda d: d.update(k=True), "k: must be a whole number"),
        (lambda d: d.update(k=5.0), "k: must be a whole number"),
        (lambda d: d.update(k=1), "queries[0].hits: has 2 hits, more than k = 1"),
        (lambda d: d.update(model=3), "model: must be text, not 3"),
        (lambda d: d.update(model=" "), "model: is empty"),
        (lambda d: d.update(options=[]), "options: must be an object, not a list"),
        (lambda d: d.update(timings={"decode": "fast"}), 'timings.decode: must be a number, not "fast"'),
        (lambda d: d.update(window={"length": 30}), 'window: "overlap" is missing'),
        (lambda d: d["footage"].append(d["footage"][0]), "footage: two have the same name"),
        (lambda d: d["footage"][0].update(duration=-1), "footage[0].duration: -1.0 is no number of seconds"),
        (lambda d: d.update(queries={}), "queries: must be a list, not an object"),
        (lambda d: d["queries"].append(d["queries"][0]), 'queries[2].query: "amazon prime van" stands twice'),
        (lambda d: d["queries"][1].update(error=7), "queries[1].error: must be text, not 7"),
        (lambda d: d["queries"][0].update(error="x"), "queries[0]: has an error and hits as well"),
        (lambda d: d["queries"][0]["hits"].append([]), "queries[0].hits[2]: must be an object, not a list"),
        (hit({"score": "0.9"}), 'queries[0].hits[0].score: must be a number, not "0.9"'),
        (hit({"score": True}), "queries[0].hits[0].score: must be a number, not true"),
        (hit({"score": 0.1}), "queries[0].hits[1].score: 0.89 is above the score before it, 0.1"),
        (hit({"score": 10**400}), "queries[0].hits[0].score: must be a finite number"),
        (hit({"start": 40.0}), "queries[0].hits[0]: ends at 40.0, not after its start at 40.0"),
        (hit({"start": -1.0}), "queries[0].hits[0].start: -1.0 is no number of seconds"),
        (hit({"start": 30.04}), "queries[0].hits[0].start: 30.04 is not a multiple of 0.1 s"),
        (hit({"start": 10, "end": 20}), "queries[0].hits[1]: 10.0–20.0 of clip.mp4 stands twice"),
        (hit({"footage": "other.mp4"}), 'queries[0].hits[0].footage: "other.mp4" is not in the run'),
        (hit({"footage": []}), "queries[0].hits[0].footage: a list is not in the run"),
        (hit({"rank": 1}), 'queries[0].hits[0]: unknown key "rank"'),
    ],
)
def test_refused_with_its_place(run, tmp_path, change, reason):
    content = document(run, tmp_path)
    change(content)
    path = tmp_path / "qwen8b.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BadInput) as caught:
        load_run(path)
    assert str(caught.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is not JSON"),
        (b"[]", "must be an object"),
        (b'{"schema": 1,\n"k": }', ":2: is not JSON"),
        (b'{"schema": 1, "k": 5, "k": 6}', '"k" stands twice'),
        (b'{"schema": NaN}', "NaN is no number"),
        (b'{"schema": -Infinity}', "-Infinity is no number"),
        (b'{"schema": 1e999}', "schema: must be 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema": ' + b"9" * 10_000 + b"}", "is not JSON"),
        (b'{\n"schema": "\xff"}', ":2: is not UTF-8"),
    ],
)
def test_what_is_not_even_json_of_the_right_kind(tmp_path, data, reason):
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        load_run(path)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert path.read_bytes() == data


AGAIN = '"footage": "clip.mp4", "start": 10.0, "end": 20.0, "score": 0.9'


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (f'{AGAIN}, "score": 0.9', '"score" stands twice in one object'),
        (f'{AGAIN}, "score": 0.8, "scor\\u0065": 0.9', '"score" stands twice in one object'),
        (AGAIN.replace("10.0", "true"), "queries[1].hits[0].start: must be a number, not true"),
        (AGAIN.replace("0.9", "false"), "queries[1].hits[0].score: must be a number, not false"),
        (AGAIN.replace("0.9", "0.7"), "queries[1].hits[1].score: 0.89 is above the score before it, 0.7"),
        (AGAIN.replace("0.9", "1e999"), "queries[1].hits[0].score: must be a finite number"),
        (AGAIN.replace("10.0", "20.0"), "queries[1].hits[0]: ends at 20.0, not after its start at 20.0"),
        (AGAIN.replace("10", "20").replace('20.0, "s', '30.0, "s'), "20.0–30.0 of clip.mp4 stands twice"),
        (f'{AGAIN}, "rank": 1', 'queries[1].hits[0]: unknown key "rank"'),
        (AGAIN.replace("0.9", "0.885"), "queries[1].hits[1].score: 0.89 is above the score before it, 0.885"),
        (AGAIN.replace("clip.mp4", "other.mp4"), 'hits[0].footage: "other.mp4" is not in the run'),
        (AGAIN.replace('"end"', '"stop"'), 'queries[1].hits[0]: "end" is missing'),
    ],
)
def test_windows_met_before_are_read_as_strictly(tmp_path, now, reason):
    windows = [window(1), window(2), window(3)]
    path = save_run(make_run("m", {Query("a", "fine"): windows, Query("b", "fine"): windows}), tmp_path)
    first, second = path.read_text().split('"query": "b"')
    assert AGAIN in second
    path.write_text(first + '"query": "b"' + second.replace(AGAIN, now))
    with pytest.raises(BadInput) as caught:
        load_run(path)
    assert reason in str(caught.value)


def test_true_and_false_are_no_seconds_even_where_python_takes_them_for_1_and_0(tmp_path):
    first = Window(FOOTAGE, 0.0, 1.0)
    path = save_run(make_run("m", {Query(text, "fine"): [first] for text in "ab"}), tmp_path)
    before, _, after = path.read_text().rpartition('"start": 0.0, "end": 1.0')
    path.write_text(f'{before}"start": false, "end": true{after}')
    with pytest.raises(BadInput, match=r"queries\[1\].hits\[0\].start: must be a number, not false"):
        load_run(path)


def test_whole_numbers_of_seconds_and_scores_are_read_as_seconds_and_scores(tmp_path):
    windows = [window(1), window(2)]
    run = make_run("m", {Query("a", "fine"): windows, Query("b", "fine"): windows})
    path = save_run(run, tmp_path)
    path.write_text(path.read_text().replace("10.0,", "10,").replace("0.9}", "1}"))
    found = load_run(path).queries[1].hits[0]
    assert found == (1, window(1), 1.0)
    assert type(found.score) is type(found.window.start) is float


def test_runs_over_the_same_footage_share_their_windows_and_others_do_not(tmp_path):
    for model, footage in (("a", "clip.mp4"), ("b", "clip.mp4"), ("c", "other.mp4")):
        found = {Query("q", "fine"): [window(3, footage)]}
        save_run(make_run(model, found, footage=(footage,)), tmp_path)
    a, b, c = (run.queries[0].hits[0].window for run in load_runs(tmp_path).runs)
    assert a is b
    assert (a, c) == (window(3), window(3, "other.mp4"))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.json")
    with pytest.raises(BadInput, match="is not a file"):
        load_run(tmp_path / "m.json")


def test_a_run_that_could_not_be_read_back_is_not_saved(run, tmp_path):
    path = save_run(run, tmp_path)
    before = path.read_bytes()
    query = dataclasses.replace(run.queries[0], hits=ranked([window(1)], [float("nan")]))
    with pytest.raises(BadInput):
        save_run(dataclasses.replace(run, queries=(query,)), tmp_path)
    assert path.read_bytes() == before


def test_saving_where_a_file_is_in_the_way(run, tmp_path):
    (tmp_path / "runs").write_text("mine")
    with pytest.raises(SentrySearchError, match="cannot be written"):
        save_run(run, tmp_path / "runs")
    assert (tmp_path / "runs").read_text() == "mine"


def test_the_earlier_run_stays_when_the_new_one_does_not_fit(run, tmp_path):
    """A rename that fails: the target is a folder."""
    (tmp_path / "qwen8b.json" / "inside").mkdir(parents=True)
    with pytest.raises(SentrySearchError):
        save_run(run, tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["qwen8b.json"]


def test_a_folder_of_runs_with_bad_ones(run, tmp_path):
    save_run(run, tmp_path)
    save_run(make_run("gemini", {VAN: [window(1)]}), tmp_path)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "qwen8b-copy.json").write_text((tmp_path / "qwen8b.json").read_text())
    (tmp_path / "notes.txt").write_text("not a run")
    (tmp_path / ".half.json").write_text("{")
    loaded = load_runs(tmp_path)
    assert [found.model for found in loaded.runs] == ["gemini", "qwen8b"]
    assert loaded.runs[1] == run
    problems = [str(problem) for problem in loaded.problems]
    assert len(problems) == 2
    assert problems[0].startswith(f"{tmp_path / 'broken.json'}:1: is not JSON")
    assert "a second run of qwen8b" in problems[1]


def test_a_folder_that_does_not_exist_has_no_runs(tmp_path):
    assert load_runs(tmp_path / "absent").runs == ()
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be listed"):
        load_runs(tmp_path / "file")


NAMES = [
    "qwen8b",
    "qwen8b@4bit",
    "Qwen8b",
    "QWEN8B",
    "Qwen/Qwen3-VL-Embedding-8B",
    "qwen/qwen3-vl-embedding-8b",
    "Qwen-Qwen3-VL-Embedding-8B",
    "/path/to/folder",
    "path/to/folder",
    "./path/to/folder",
    "..",
    ".",
    "../..",
    "a/../../b",
    "con",
    "nul.txt",
    "~",
    "a~b",
    "a\nb",
    "a\0b",
    "-rf",
    ".hidden",
    "车",
    "\udc80",
    "",
    " ",
    "x" * 300,
    "x" * 301,
]


def test_file_names_never_collide_nor_leave_the_folder(tmp_path):
    names = [run_file_name(model) for model in NAMES]
    assert len({name.lower() for name in names}) == len(NAMES)
    for name in names:
        assert (tmp_path / name).parent.resolve() == tmp_path.resolve()
        assert name.isascii() and name.isprintable() and "/" not in name
        assert name[0] not in ".-"
        (tmp_path / name).write_text("")  # every file system takes it
    assert len(list(tmp_path.glob("*.json"))) == len(NAMES)


def test_plain_file_names_stay_readable():
    assert run_file_name("qwen8b@4bit") == "qwen8b@4bit.json"
    assert run_file_name("Qwen/Qwen3-VL-Embedding-8B").startswith("qwen-qwen3-vl-embedding-8b~")


def test_no_model_name_can_take_another_ones_file_name():
    """A name that looks like what a hub id is stored under."""
    stored = run_file_name("Qwen/X").removesuffix(".json")
    assert run_file_name(stored) != run_file_name("Qwen/X")
