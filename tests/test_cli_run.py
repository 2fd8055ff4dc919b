"""The main job through its command line: footage to the table, and what can go wrong on the way."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
import yaml

from sentrysearch import embedders
from sentrysearch.errors import EmbedderFailed
from sentrysearch.locations import collections_folder
from support.embedders import ColourEmbedder

COLOURS = [(200, 20, 20), (20, 200, 20), (20, 20, 200)]


def write_colours(path, colours=COLOURS, seconds_each=2):
    """A clip of plain colours, two seconds each at 5 pictures a second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=5)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for colour in colours:
            image = np.full((64, 64, 3), colour, np.uint8)
            for _ in range(5 * seconds_each):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A benchmark over one clip, and a stand-in for whichever models it names."""
    write_colours(tmp_path / "clip.mp4")
    file = tmp_path / "benchmark.yaml"
    file.write_text(
        "footage: clip.mp4\nwindow: {length: 2, overlap: 0}\nk: 3\nmodels: [conse-lite0]\n"
        "queries:\n  floor: [red]\n  fine: [green, blue]\n"
    )
    monkeypatch.setattr(embedders, "create", lambda name: ColourEmbedder(name))
    return file


def use(monkeypatch, made):
    monkeypatch.setattr(embedders, "create", lambda name: made[name])


def judge_all(bench, verdicts):
    lines = []
    for query, windows in verdicts.items():
        lines.append(f'"{query}":\n')
        lines += [f'  "{key}": {str(value).lower()}\n' for key, value in windows.items()]
    (bench.parent / "accuracy_judgments.yaml").write_text("".join(lines))


def test_the_table_is_what_one_works_out_by_hand(command, bench):
    # Windows are red 0-2, green 2-4, blue 4-6; each query's own colour comes first.
    judge_all(
        bench,
        {
            "red": {"0.0-2.0": True},
            "green": {"2.0-4.0": True, "0.0-2.0": False, "4.0-6.0": False},
            "blue": {"4.0-6.0": False, "2.0-4.0": True, "0.0-2.0": False},
        },
    )
    result = command.accuracy("run", "--benchmark", bench, "--format", "json")
    assert result.status == 0
    assert f"`accuracy-tui judge -b {bench}` asks for the missing verdicts" in result.err
    [model] = json.loads(result.out)["models"]
    assert model["model"] == "conse-lite0"
    # fine: green is right at rank 1; blue's true window is at rank 2 or 3.
    assert model["P@1 fine"] == {"low": 0.5, "high": 0.5}
    assert model["P@3 fine"]["low"] == pytest.approx(1 / 3)
    assert model["P@1 floor"] == {"low": 1.0, "high": 1.0}
    # red has two of its three windows unjudged
    assert model["Judged@3"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert json.loads(result.out)["pool"] == {"items": 9, "unjudged": 2}


def test_the_run_file_says_what_produced_it(command, bench):
    assert command.accuracy("run", "--benchmark", bench).status == 0
    run = json.loads((bench.parent / "accuracy_runs/conse-lite0.json").read_text())
    assert run["schema"] == 1 and run["revision"] == "colour-1" and run["k"] == 3
    assert run["window"] == {"length": 2.0, "overlap": 0.0}
    assert [item["name"] for item in run["footage"]] == ["clip.mp4"]
    assert {query["query"]: query["hits"][0]["start"] for query in run["queries"]} == {
        "red": 0.0, "green": 2.0, "blue": 4.0,
    }  # fmt: skip
    assert {"load", "decode", "embed", "cold_query", "warm_query"} <= set(run["timings"])


def test_nothing_of_the_throwaway_collection_stays(command, bench):
    command.accuracy("run", "--benchmark", bench)
    assert not list(collections_folder().glob("*"))


def test_keeping_the_index_makes_one_more_query_cost_one_query(command, bench, monkeypatch):
    first, second = ColourEmbedder("conse-lite0"), ColourEmbedder("conse-lite0")
    use(monkeypatch, {"conse-lite0": first})
    command.accuracy("run", "--benchmark", bench, "--keep-index")
    assert len(first.embedded) == 3
    use(monkeypatch, {"conse-lite0": second})
    result = command.accuracy(
        "run", "--benchmark", bench, "--keep-index", "--query", "grey", "--format", "json"
    )
    assert second.embedded == []
    assert "grey" in second.queries
    assert json.loads(result.out)["queries"] == {"fine": 3, "floor": 1}
    [folder] = collections_folder().glob("*")
    assert not folder.name.startswith("_accuracy")


def test_a_query_of_the_command_line_can_be_judged_and_shown_as_the_hint_says(command, bench, monkeypatch):
    result = command.accuracy("run", "-b", bench, "-q", "grey")
    [hint] = re.findall("`accuracy-tui (judge .*)`", result.err)
    assert hint == f"judge -b {bench} -q grey"
    answer(monkeypatch, "y" * 20)
    judged = command.accuracy(*shlex.split(hint))
    assert judged.status == 0 and "12 judged, 0 left" in judged.err
    written = yaml.safe_load((bench.parent / "accuracy_judgments.yaml").read_text())
    assert len(written["grey"]) == 3
    assert "grey" in command.accuracy("table", "-b", bench, "-q", "grey", "--per-query").out


def test_another_revision_or_window_does_not_reuse_the_index(command, bench, monkeypatch):
    command.accuracy("run", "--benchmark", bench, "--keep-index")
    changed = ColourEmbedder("conse-lite0")
    changed.revision = "colour-2"
    use(monkeypatch, {"conse-lite0": changed})
    command.accuracy("run", "--benchmark", bench, "--keep-index")
    assert len(changed.embedded) == 3


def test_a_model_that_fails_is_reported_and_the_others_go_on(command, bench, monkeypatch):
    class Broken(ColourEmbedder):
        def embed_windows(self, batch):
            raise EmbedderFailed("the service is \x1b[31mdown")

    use(monkeypatch, {"conse-lite0": Broken("conse-lite0"), "conse-lite1": ColourEmbedder("conse-lite1")})
    result = command.accuracy(
        "run", "-b", bench, "-m", "conse-lite0", "-m", "conse-lite1", "--format", "json"
    )
    assert result.status == 1
    broken, fine = json.loads(result.out)["models"]
    assert (broken["status"], fine["status"]) == ("failed", "ran")
    assert "the service is" in broken["reason"] and "P@1 fine" in broken and broken["P@1 fine"] is None
    assert "\x1b" not in result.err + result.out


def test_a_model_without_its_key_or_package_is_reported(command, bench, monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    result = command.accuracy("run", "-b", bench, "-m", "gemini")
    assert result.status == 1
    assert "gemini failed: no key: GEMINI_API_KEY or GOOGLE_API_KEY is not set" in result.err


def test_a_query_that_fails_scores_0_and_is_status_1(command, bench):
    result = command.accuracy("run", "-b", bench, "-q", "no such colour", "--format", "json")
    assert result.status == 1
    [model] = json.loads(result.out)["models"]
    assert model["failed_queries"] == ["no such colour"]
    assert "no such colour" in result.err


def test_a_hosted_model_that_finally_fails_keeps_what_was_paid_for(command, bench, monkeypatch):
    class Flaky(ColourEmbedder):
        def embed_windows(self, batch):
            if len(self.embedded) == 2:
                raise EmbedderFailed("429 too often")
            return super().embed_windows(batch)

    again = ColourEmbedder("gemini")
    use(monkeypatch, {"gemini": Flaky("gemini")})
    result = command.accuracy("run", "-b", bench, "-m", "gemini")
    assert result.status == 1
    assert "2 of 3 windows are embedded and kept; run again to go on from there" in result.err
    use(monkeypatch, {"gemini": again})
    assert command.accuracy("run", "-b", bench, "-m", "gemini").status == 0
    assert len(again.embedded) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "conse-lit0"], "did you mean conse-lite0"),
        (["--model", "conse-lite0", "--backend", "gemini"], "not of the gemini backend"),
        (["--backend", "cloud"], "'cloud' is not one of"),
        (["--query", "  "], "the query is empty"),
        (["--query", "red"], "is already a floor query"),
        (["-k", "0"], "0 is not in the range"),
        (["--footage", "nowhere.mp4"], "nowhere.mp4"),
        (["--format", "xml"], "--format"),
        (["--demo"], "--demo is itself a benchmark"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_line_and_status_2_and_changes_nothing(command, bench, arguments, said):
    before = sorted(bench.parent.rglob("*"))
    result = command.accuracy("run", "-b", bench, *arguments)
    assert result.status == 2
    assert said in result.err and result.err.count("\n") == 1
    assert result.out == ""
    assert sorted(bench.parent.rglob("*")) == before
    assert not list(collections_folder().glob("*"))


def test_the_console_needs_a_terminal(command):
    result = command.accuracy("--demo")
    assert result.status == 2 and "needs a terminal" in result.err and result.err.count("\n") == 1


def test_options_of_the_console_belong_behind_a_command(command):
    result = command.accuracy("--blind", "table")
    assert result.status == 2 and "--blind before table is for the console" in result.err


def test_no_benchmark_at_all_says_what_to_do(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command.accuracy("run")
    assert result.status == 2 and "--demo" in result.err


def test_footage_that_is_not_the_file_meant_is_refused(command, bench):
    text = bench.read_text().replace("footage: clip.mp4", f"footage: {{path: clip.mp4, sha256: {'0' * 64}}}")
    bench.write_text(text)
    result = command.accuracy("run", "-b", bench)
    assert result.status == 2 and "not the file that the benchmark means" in result.err


def test_an_empty_file_in_a_folder_is_left_out_and_said(command, bench):
    folder = bench.parent / "clips"
    folder.mkdir()
    (bench.parent / "clip.mp4").rename(folder / "clip.mp4")
    (folder / "cut short.mp4").write_bytes(b"")
    result = command.accuracy("run", "-b", bench, "--footage", folder)
    assert result.status == 0
    assert "left out: " in result.err and "cut short.mp4" in result.err
    indexed = command.engine("index", folder, "--window", "2", "--overlap", "0")
    assert indexed.status == 0 and "left out: " in indexed.err and "1 footage" in indexed.err


def test_judgments_of_another_clip_are_refused_unless_the_user_says_so(command, bench):
    (bench.parent / "accuracy_judgments.yaml").write_text(
        f'# footage "clip.mp4" sha256:{"1" * 64}\n"red":\n  "0.0-2.0": true\n'
    )
    result = command.accuracy("run", "-b", bench)
    assert result.status == 2 and "accuracy_judgments.yaml:1" in result.err
    assert command.accuracy("table", "-b", bench).status == 2
    assert command.accuracy("run", "-b", bench, "--accept-footage").status == 0
    accepted = command.accuracy("table", "-b", bench, "--format", "json")
    assert accepted.status == 0 and json.loads(accepted.out)["pool"]["unjudged"] == 8


@pytest.mark.parametrize(("redirection", "status"), [(">/dev/full", 1), (">&-", 0), ("| true", 0)])
def test_output_that_goes_nowhere_is_no_traceback(command, bench, redirection, status):
    command.accuracy("run", "-b", bench)
    line = f"set -o pipefail; {sys.executable} -m accuracy_tui table -b {bench} {redirection}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == status or redirection == "| true"


def test_table_prints_saved_runs_without_footage_or_model(command, bench):
    command.accuracy("run", "-b", bench)
    (bench.parent / "clip.mp4").unlink()
    judge_all(bench, {"green": {"2.0-4.0": True}})
    result = command.accuracy("table", "-b", bench, "--format", "csv")
    assert result.status == 0
    header, row = result.out.splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["P@1 fine low"] == "0.5"


def test_a_copy_of_a_run_file_does_not_hide_the_run_just_made(command, bench):
    command.accuracy("run", "-b", bench)
    runs = bench.parent / "accuracy_runs"
    old = json.loads((runs / "conse-lite0.json").read_text())
    for query in old["queries"]:
        query["hits"] = query["hits"][:1]
    (runs / "conse-lite0 before.json").write_text(json.dumps(old))
    result = command.accuracy("run", "-b", bench, "--format", "json")
    document = json.loads(result.out)
    assert document["pool"]["items"] == 9
    assert any("conse-lite0 before.json: a second run" in remark for remark in document["remarks"])


@pytest.mark.parametrize("subcommand", ["table", "judge"])
def test_a_model_that_does_not_exist_is_no_row(command, bench, subcommand):
    command.accuracy("run", "-b", bench)
    result = command.accuracy(subcommand, "-b", bench, "-m", "conse-lite0", "-m", "conse-lit0")
    assert result.status == 2 and "did you mean conse-lite0" in result.err


def test_table_leaves_out_runs_that_cannot_be_compared_and_says_so(command, bench):
    command.accuracy("run", "-b", bench)
    command.accuracy("run", "-b", bench, "-m", "conse-lite1")
    bench.write_text(bench.read_text().replace("length: 2", "length: 3"))
    result = command.accuracy("table", "-b", bench)
    assert result.status == 2 and "its windows are 2/0 s, the benchmark's 3/0 s" in result.err
    command.accuracy("run", "-b", bench)
    result = command.accuracy("table", "-b", bench)
    assert result.status == 0
    assert "run of conse-lite1 left out" in result.out


def test_a_malformed_run_is_reported_and_the_others_are_shown(command, bench):
    command.accuracy("run", "-b", bench)
    (bench.parent / "accuracy_runs/broken.json").write_text("{")
    result = command.accuracy("table", "-b", bench)
    assert result.status == 0
    assert "broken.json" in result.out and "conse-lite0" in result.out


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
def test_per_query_adds_a_row_for_every_query_and_model(command, bench, form):
    command.accuracy("run", "-b", bench)
    result = command.accuracy("table", "-b", bench, "--per-query", "--format", form)
    assert all(query in result.out for query in ("red", "green", "blue"))


def answer(monkeypatch, keys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))


def test_run_judge_asks_for_each_pool_item_and_writes_the_yaml(command, bench, monkeypatch):
    answer(monkeypatch, "ynsuyq")
    result = command.accuracy("run", "-b", bench, "--judge", "--format", "json")
    assert result.status == 0
    assert "1/9  Does this show “green”?" in result.err
    written = yaml.safe_load((bench.parent / "accuracy_judgments.yaml").read_text())
    # y to the first, n to the second, the third skipped, the n undone and made a y
    [(query, verdicts)] = written.items()
    assert query == "green" and verdicts.pop("2.0-4.0") is True
    assert list(verdicts.values()) == [True]
    assert json.loads(result.out)["pool"]["unjudged"] == 7


def test_judge_goes_on_where_the_last_round_stopped(command, bench, monkeypatch):
    command.accuracy("run", "-b", bench)
    answer(monkeypatch, "yq")
    command.accuracy("judge", "-b", bench)
    answer(monkeypatch, "n" * 20)
    result = command.accuracy("judge", "-b", bench)
    assert "1/8  Does this show" in result.err and "8 judged, 0 left" in result.err
    assert "all 9 pool items are judged" in result.out
    assert "nothing to judge" in command.accuracy("judge", "-b", bench).err


def test_judge_decisive_asks_first_what_decides_between_models(command, bench, monkeypatch):
    made = {"conse-lite0": ColourEmbedder("conse-lite0"), "conse-lite1": ColourEmbedder("conse-lite1")}
    vectors = made["conse-lite1"]
    monkeypatch.setattr(vectors, "embed_query", lambda text: made["conse-lite0"].embed_query("red"))
    use(monkeypatch, made)
    command.accuracy("run", "-b", bench, "--model", "conse-lite0", "--model", "conse-lite1", "-k", "1")
    answer(monkeypatch, "ynq")
    result = command.accuracy("judge", "-b", bench, "--decisive")
    questions = [line for line in result.err.splitlines() if "Does this show" in line]
    assert len(questions) == 3 and all("“green”" in line or "“blue”" in line for line in questions)
    assert "decides conse-lite0 against conse-lite1 · P@3 fine" in result.err
    assert "more verdicts until the leader is settled" in result.err
    answer(monkeypatch, "y" * 9)
    result = command.accuracy("judge", "-b", bench, "--decisive")
    assert result.err.rstrip().count("Does this show") == 3
    assert "a floor query: it decides nothing between models" in result.err


@pytest.mark.parametrize("key", "yn")
def test_judge_asks_again_where_an_outside_edit_conflicts(command, bench, monkeypatch, key):
    command.accuracy("run", "-b", bench)
    file = bench.parent / "accuracy_judgments.yaml"

    class EditedMeanwhile(io.StringIO):
        def readline(self):
            line = super().readline()
            if line == "q\n":
                file.write_text('"green":\n  "2.0-4.0": false\n')
            return line

    monkeypatch.setattr(sys, "stdin", EditedMeanwhile("y\nq\n"))
    command.accuracy("judge", "-b", bench)
    answer(monkeypatch, f"{key}q")
    result = command.accuracy("judge", "-b", bench)
    assert "was judged yes here and is no in the file" in result.err and "1/9  Does this show" in result.err
    assert yaml.safe_load(file.read_text()) == {"green": {"2.0-4.0": key == "y"}}
    answer(monkeypatch, "q")
    result = command.accuracy("judge", "-b", bench)
    assert "conflict" not in result.err and "1/8  Does this show" in result.err


def test_export_and_import_bring_the_verdicts_back(command, bench, tmp_path):
    command.accuracy("run", "-b", bench)
    verdicts = {"green": {"2.0-4.0": True, "0.0-2.0": False}, "red": {"0.0-2.0": True}}
    judge_all(bench, verdicts)
    result = command.accuracy(
        "export", "-b", bench, "--qrels", tmp_path / "q.txt", "--runs", tmp_path / "trec"
    )
    assert result.status == 0
    assert [path.name for path in (tmp_path / "trec").iterdir()] == ["conse-lite0.run"]
    (bench.parent / "accuracy_judgments.yaml").unlink()
    for left in bench.parent.glob(".accuracy_judgments*"):
        left.unlink()
    assert command.accuracy("import-qrels", "-b", bench, tmp_path / "q.txt").status == 0
    assert yaml.safe_load((bench.parent / "accuracy_judgments.yaml").read_text()) == verdicts


def test_import_refuses_contradictions_unless_told(command, bench, tmp_path):
    command.accuracy("run", "-b", bench)
    judge_all(bench, {"green": {"2.0-4.0": True}})
    command.accuracy("export", "-b", bench, "--qrels", tmp_path / "q.txt")
    judge_all(bench, {"green": {"2.0-4.0": False}})
    for left in bench.parent.glob(".accuracy_judgments*"):
        left.unlink()
    result = command.accuracy("import-qrels", "-b", bench, tmp_path / "q.txt")
    assert result.status == 2 and "1 verdicts contradict" in result.err
    assert command.accuracy("import-qrels", "-b", bench, tmp_path / "q.txt", "--overwrite").status == 0
    assert yaml.safe_load((bench.parent / "accuracy_judgments.yaml").read_text()) == {
        "green": {"2.0-4.0": True}
    }


def test_models_lists_every_model_with_the_command_that_changes_it(command):
    result = command.accuracy("models", "--json")
    listed = {item["name"]: item for item in json.loads(result.out)}
    assert listed["conse-lite0"]["available"] is True
    assert listed["gemini"]["available"] is False and "GEMINI_API_KEY" in listed["gemini"]["command"]
    assert "gemini" in command.accuracy("models").out


def test_a_cell_is_reproduced_by_hand_with_the_engine(command, bench):
    command.accuracy("run", "-b", bench)
    clip = bench.parent / "clip.mp4"
    indexed = command.engine("index", clip, "--model", "conse-lite0", "--window", "2", "--overlap", "0")
    assert indexed.status == 0 and "3 windows, 3 of them new" in indexed.err
    found = json.loads(command.engine("search", "green", "--model", "conse-lite0", "-k", "3", "--json").out)
    run = json.loads((bench.parent / "accuracy_runs/conse-lite0.json").read_text())
    [expected] = [query["hits"] for query in run["queries"] if query["query"] == "green"]
    assert [(hit["start"], hit["score"]) for hit in found["hits"]] == [
        (hit["start"], hit["score"]) for hit in expected
    ]
    assert found["hits"][0]["footage"] == str(clip)
    again = command.engine("index", clip, "--model", "conse-lite0", "--window", "2", "--overlap", "0")
    assert "0 of them new" in again.err


def test_searching_what_was_not_indexed_says_how_to(command, bench):
    result = command.engine("search", "green")
    assert result.status == 2 and "sentrysearch index PATH --model conse-lite0" in result.err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_run_and_deletes_its_collection(bench, name):
    program = (
        "import sys, time; sys.path.insert(0, 'tests')\n"
        "from support.embedders import ColourEmbedder\n"
        "from sentrysearch import embedders\n"
        "class Slow(ColourEmbedder):\n"
        "    def embed_windows(self, batch):\n"
        "        print('busy', flush=True); time.sleep(1); return super().embed_windows(batch)\n"
        "embedders.create = lambda name: Slow(name)\n"
        "from accuracy_tui.cli import main\n"
        "main()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, "run", "--benchmark", str(bench)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"PYTHONFAULTHANDLER": "1"},
    )
    assert child.stdout.readline() == "busy\n"
    assert len(list(collections_folder().glob("_accuracy*"))) == 1
    number = getattr(signal, name)
    child.send_signal(number)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 128 + number
    assert "Traceback" not in err
    assert not list(collections_folder().glob("*"))
    assert not (bench.parent / "accuracy_runs").exists()


def test_a_real_model_over_a_real_clip(command, tmp_path):
    """The embedded default through the command line; which windows come first is the demo's business."""
    file = tmp_path / "benchmark.yaml"
    write_colours(tmp_path / "clip.mp4")
    file.write_text("footage: clip.mp4\nwindow: {length: 2, overlap: 1}\nqueries: {floor: [a car]}\n")
    result = command.accuracy("run", "-b", file, "-m", "conse-lite0", "--format", "json")
    assert result.status == 0
    run = json.loads((tmp_path / "accuracy_runs/conse-lite0.json").read_text())
    assert len(run["queries"][0]["hits"]) == 5
    assert command.engine("index", tmp_path / "clip.mp4", "--window", "2", "--overlap", "1").status == 0
    found = json.loads(command.engine("search", "a car", "--json").out)["hits"]
    assert [hit["score"] for hit in found] == [hit["score"] for hit in run["queries"][0]["hits"]]


def test_searching_by_hand_reports_whatever_goes_wrong_with_the_query(command, bench):
    command.engine("index", bench.parent / "clip.mp4", "--window", "2", "--overlap", "0")
    result = command.engine("search", "no colour")  # the stand-in raises KeyError
    assert result.status == 1 and result.err == "sentrysearch: query 'no colour': KeyError: 'no colour'\n"
    result = command.engine("search", "caf\udce9")
    assert result.status == 2 and "is not UTF-8 text" in result.err


@pytest.mark.parametrize("arguments", [["-q", "caf\udce9"], ["--floor-query", "caf\udce9"]])
def test_a_query_that_no_file_can_keep_is_refused_at_once(command, bench, arguments):
    result = command.accuracy("run", "-b", bench, *arguments)
    assert result.status == 2 and "is not UTF-8 text" in result.err and not result.out


def test_judging_without_a_standard_input_is_no_traceback(command, bench, monkeypatch):
    command.accuracy("run", "-b", bench)
    monkeypatch.setattr(sys, "stdin", None)
    result = command.accuracy("judge", "-b", bench)
    assert result.status == 0 and "0 judged, 9 left" in result.err


@pytest.mark.parametrize("variable", ["SENTRYSEARCH_DATA", "SENTRYSEARCH_CACHE"])
def test_a_home_folder_that_does_not_exist_is_one_line(command, bench, monkeypatch, variable):
    monkeypatch.setenv(variable, "~no-such-user/x")
    result = command.accuracy("run", "-b", bench)
    assert result.status == 2 and "no home folder ~no-such-user here" in result.err and variable in result.err


def test_a_pass_whose_run_cannot_be_saved_is_not_begun(command, bench, monkeypatch):
    made = {"conse-lite0": ColourEmbedder("conse-lite0")}
    use(monkeypatch, made)
    (bench.parent / "accuracy_runs").write_text("a file")
    result = command.accuracy("run", "-b", bench)
    assert result.status == 2 and "accuracy_runs: runs cannot be written here" in result.err
    assert not made["conse-lite0"].loaded


@pytest.mark.parametrize("name", ["accuracy_judgments.yaml", ".accuracy_judgments.yaml.journal"])
@pytest.mark.parametrize("kind", ["loop", "pipe"])
def test_judgments_that_are_no_file_are_one_line(command, bench, name, kind):
    command.accuracy("run", "-b", bench)
    if kind == "loop":
        (bench.parent / name).symlink_to(name)
    else:
        os.mkfifo(bench.parent / name)
    for subcommand in ("table", "judge"):
        result = command.accuracy(subcommand, "-b", bench)
        assert result.status == 2 and name in result.err and result.err.count("\n") == 1
