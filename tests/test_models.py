"""Model names: found, refused with a suggestion, and why one cannot run here."""

import pytest

from sentrysearch import embedders
from sentrysearch.errors import BadInput, EmbedderUnavailable


def test_the_catalogue_has_every_model_and_backend():
    assert set(embedders.catalogue()) == {
        "conse-lite0", "conse-lite1", "conse-lite2", "qwen8b", "qwen2b", "qwen-cloud", "gemini",
    }  # fmt: skip
    assert set(embedders.backends()) == {"local", "conse", "qwen-cloud", "gemini"}


@pytest.mark.parametrize("name", ["Qwen/Qwen3-VL-Embedding-2B", "qwen2b@4bit", "some/model@4bit"])
def test_hub_ids_and_quantised_names_are_local_models(name):
    assert embedders.find(name).backend == "local"
    assert embedders.find(name).name == name


def test_a_folder_is_a_local_model(tmp_path):
    assert embedders.find(str(tmp_path)).backend == "local"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("conse-lit0", "did you mean conse-lite0"),
        ("zzz", "accuracy-tui models"),
        ("gemini@4bit", "only models of the local"),
    ],
)
def test_a_name_that_does_not_exist_is_refused(name, said):
    with pytest.raises(BadInput, match=said):
        embedders.find(name)


def test_a_missing_package_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbedderUnavailable, match=r"pip install 'accuracy-tui\[conse\]'"):
        embedders.create("conse-lite1")


def test_a_missing_base_package_names_a_command_that_works(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbedderUnavailable, match=r"pip install 'accuracy-tui'$"):
        embedders.create("gemini")


def test_a_missing_key_is_named():
    with pytest.raises(EmbedderUnavailable, match="GEMINI_API_KEY or GOOGLE_API_KEY is not set"):
        embedders.create("gemini")


def test_weights_that_are_not_on_this_machine_are_said(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    entry = embedders.find("qwen2b")
    assert "hf download Qwen/Qwen3-VL-Embedding-2B" in str(entry.not_downloaded())
    snapshot = tmp_path / "models--Qwen--Qwen3-VL-Embedding-2B/snapshots/0123"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    assert entry.not_downloaded() is None
    assert embedders.find("conse-lite0").not_downloaded() is None
