"""Imports point one way, and what must be quick imports nothing heavy: shown in fresh interpreters."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import accuracy_tui

HEAVY = ("torch", "transformers", "textual", "av", "onnxruntime", "google.genai", "dashscope", "mpv")


def modules_after(statement):
    program = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "from sentrysearch import embedders; embedders.catalogue()",
        "import accuracy_tui.cli",
        "import sentrysearch.cli",
        "import accuracy_tui.metrics, accuracy_tui.report, accuracy_tui.judgments, accuracy_tui.session",
        "import accuracy_tui.live, accuracy_tui.judging_order, accuracy_tui.judging_round",
        "import accuracy_tui.export",
        "import accuracy_tui.console, accuracy_tui.console_state, accuracy_tui.pass_worker",
        "import accuracy_tui.player.routes, accuracy_tui.player.abilities, accuracy_tui.player.browser",
    ],
)
def test_nothing_heavy_is_imported(statement):
    assert not modules_after(statement) & set(HEAVY)


def test_the_engine_knows_nothing_of_judging():
    loaded = modules_after(
        "import sentrysearch.passes, sentrysearch.progress, sentrysearch.cli, sentrysearch.store\n"
        "import sentrysearch.search, sentrysearch.clips"
    )
    assert not any(name.startswith("accuracy_tui") for name in loaded)


def test_resolving_a_model_imports_only_its_own_file():
    loaded = modules_after("from sentrysearch import embedders\nembedders.create('conse-lite0')")
    others = {f"sentrysearch.embedders.{name}" for name in ("qwen", "gemini", "qwen_cloud")}
    assert "sentrysearch.embedders.conse" in loaded
    assert not loaded & others
    assert not loaded & {"torch", "transformers"}


def test_the_console_draws_saved_runs_without_anything_heavy():
    loaded = modules_after("import accuracy_tui.ui.app, accuracy_tui.ui.judging_screen")
    assert "textual" in loaded
    assert not loaded & (set(HEAVY) - {"textual"})
    assert "numpy" not in loaded


def test_only_the_console_imports_textual():
    package = Path(accuracy_tui.__file__).parent
    importing = re.compile(r"^\s*(?:from|import) textual\b", re.MULTILINE)
    for file in [*package.rglob("*.py"), *(package.parent / "sentrysearch").rglob("*.py")]:
        if importing.search(file.read_text(encoding="utf-8")):
            assert file.is_relative_to(package / "ui"), file
