"""Tests never see the machine's own settings, keys or data, and never reach a hub."""

import os
import signal

import pytest
from hypothesis import settings

from support.command import command as command  # a fixture

# Read when the hub's library is imported, which a test module may do before any fixture.
os.environ["HF_HUB_OFFLINE"] = "1"

# How long an example takes on a busy machine says nothing about what it shows.
# A fault that a search at random finds belongs to whoever searches, not to the next change that CI sees.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")

KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "DASHSCOPE_API_KEY", "DASHSCOPE_HTTP_BASE_URL", "HF_TOKEN")


@pytest.fixture(scope="session", autouse=True)
def heeded_signals():
    """What tests start heeds the signals they send, also where the tests themselves run under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory):
    """One cache for the whole run, also across xdist workers: converted weights are made once."""
    root = tmp_path_factory.getbasetemp()
    cache = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "sentrysearch-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTRYSEARCH_CACHE", str(cache))
        yield cache


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory, monkeypatch):
    """A data folder of its own for each test, and no keys."""
    monkeypatch.setenv("SENTRYSEARCH_DATA", str(tmp_path_factory.mktemp("data")))
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
