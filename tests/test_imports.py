"""Imports point one way, and what must be quick imports nothing heavy: shown in fresh interpreters."""

import subprocess
import sys

import pytest

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
