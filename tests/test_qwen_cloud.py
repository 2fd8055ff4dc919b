"""What Qwen Cloud is sent and how its own errors are read, with the real SDK. More faults: test_hosted.py."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from sentrysearch.embedders._hosted import Patience
from sentrysearch.embedders.qwen_cloud import QwenCloudEmbedder
from sentrysearch.errors import EmbedderFailed
from support.clock import FakeClock
from support.loopback import KEY, Drop, Reply, Stall, Vector, content_vector, serving
from support.sent_clip import film, look_at, window


@pytest.fixture
def server(monkeypatch):
    with serving(monkeypatch) as loopback:
        yield loopback


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def embedder(server, clock):
    made = QwenCloudEmbedder("qwen-cloud", clock=clock)
    made.load()
    yield made
    made.close()


@pytest.fixture(scope="module")
def footage(tmp_path_factory):
    return film(tmp_path_factory.mktemp("film") / "drive.mp4", 30)


def paths(server):
    return [request.path.rsplit("/", 1)[-1] for request in server.received]


def test_a_window_is_stored_as_a_small_silent_mp4_and_embedded_from_there(embedder, server, footage):
    vectors = embedder.embed_windows([window(footage, 12.0, 22.0)])
    assert paths(server) == ["uploads", "storage", "multimodal-embedding"]
    ((address, clip),) = server.stored.items()
    body = server.embeddings()[0].json
    assert body["model"] == "qwen3-vl-embedding"
    assert body["input"]["contents"] == [{"video": address}]
    assert body["parameters"] == {"dimension": 2560, "fps": 1.0}
    expected = np.array(content_vector(clip, 2560))
    np.testing.assert_allclose(vectors, [expected / np.linalg.norm(expected)], atol=1e-6)

    arrived = look_at(clip)
    assert "mp4" in arrived.container
    assert (arrived.codec, arrived.tracks) == ("h264", ["video"])
    assert arrived.seconds == pytest.approx(10, abs=0.51)
    assert max(arrived.width, arrived.height) <= 640
    assert len(arrived.times) == 20
    assert min(arrived.film_times) == pytest.approx(12, abs=1)
    assert max(arrived.film_times) == pytest.approx(21.5, abs=1)
    assert len(clip) < 50_000_000


def test_a_query_carries_the_instruction(embedder, server):
    embedder.embed_query("white toyota pickup")
    body = server.embeddings()[0].json
    assert body["input"]["contents"] == [{"text": "white toyota pickup"}]
    assert body["parameters"] == {
        "dimension": 2560,
        "instruct": "Retrieve videos relevant to the user's query.",
    }


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_query_that_is_the_name_of_a_file_is_a_query(embedder, server, tmp_path, scheme):
    secret = tmp_path / "secret"
    secret.write_text("not to be uploaded")
    embedder.embed_query(f"{scheme}{secret}")
    assert paths(server) == ["multimodal-embedding"]
    assert server.embeddings()[0].json["input"]["contents"] == [{"text": f"{scheme}{secret}"}]


def test_the_key_goes_in_headers_and_nowhere_else(embedder, server, footage, caplog):
    caplog.set_level(logging.DEBUG)
    embedder.embed_windows([window(footage, 0.0, 2.0)])
    policy, upload, embedding = server.received
    assert policy.headers.pop("authorization") == embedding.headers.pop("authorization") == f"Bearer {KEY}"
    everything = "".join(f"{r.path}{r.query}{r.headers}{r.body!r}" for r in (policy, upload, embedding))
    assert KEY not in everything + caplog.text


def test_a_busy_model_costs_no_second_upload(embedder, server, footage):
    server.embed_faults += [Reply(429, {"code": "Throttling.RateQuota"}), Drop(), Reply(500)]
    embedder.embed_windows([window(footage, 0.0, 2.0)])
    assert paths(server) == ["uploads", "storage", *["multimodal-embedding"] * 4]


def test_only_the_embedding_counts_against_the_rate(server, clock, footage, monkeypatch):
    monkeypatch.setenv("SENTRYSEARCH_QWEN_CLOUD_RPM", "6")
    made = QwenCloudEmbedder("qwen-cloud", clock=clock)
    made.load()
    made.embed_windows([window(footage, 0.0, 2.0), window(footage, 2.0, 4.0)])
    assert clock.waits == pytest.approx([10])
    made.close()


def test_the_upload_is_tried_again_under_a_new_name(embedder, server, clock, footage):
    server.policy_faults += [Drop(), Reply(503, {"message": "busy"}, {"Retry-After": "9"})]
    server.storage_faults += [Drop(), Reply(500, "<Error/>")]
    embedder.embed_windows([window(footage, 0.0, 2.0)])
    assert paths(server) == [*["uploads"] * 3, *["storage"] * 3, "multimodal-embedding"]
    assert 9 in clock.waits
    names = {request.form()["key"] for request in server.received if request.path == "/storage"}
    assert len(names) == 3
    assert all(name.endswith(b".mp4") for name in names)


@pytest.mark.parametrize("where", ["policy_faults", "storage_faults"])
def test_a_slow_upload_is_a_timeout(server, clock, footage, where):
    getattr(server, where).append(Stall())
    made = QwenCloudEmbedder("qwen-cloud", patience=Patience(attempts=1, timeout=0.2), clock=clock)
    made.load()
    with pytest.raises(EmbedderFailed, match=r"^window drive\.mp4@0\.0-2\.0: .*: no answer within 0\.2 s"):
        made.embed_windows([window(footage, 0.0, 2.0)])
    made.close()


@pytest.mark.parametrize(
    ("where", "reply", "said"),
    [
        ("policy_faults", Reply(403, {"message": "no\x1bway"}), r"403 Forbidden: no\\x1bway"),
        ("policy_faults", Reply(200, {"data": "\x1bnothing"}), "could not be read"),
        ("policy_faults", Reply(200, {"data": {"policy": "p"}}), "could not be read"),
        ("policy_faults", Reply(200, "<html/>"), "could not be"),
        ("storage_faults", Reply(403, "<Error>key</Error>"), "403 Forbidden: the clip could not be stored"),
        ("storage_faults", Reply(302, "", {"Location": "http://10.1.2.3/"}), "302 Found: the clip could not"),
    ],
)
def test_an_upload_that_is_refused_names_the_window(embedder, server, clock, footage, where, reply, said):
    getattr(server, where).append(reply)
    with pytest.raises(EmbedderFailed, match=said) as caught:
        embedder.embed_windows([window(footage, 0.0, 2.0)])
    assert str(caught.value).startswith("window drive.mp4@0.0-2.0: Qwen Cloud: ")
    assert server.embeddings() == []
    assert clock.waits == []


def test_a_wrong_key_is_refused_at_the_first_request(server, clock, footage, monkeypatch):
    monkeypatch.setenv("DASHSCOPE_API_KEY", "wrong-key-9f8e7d6c")
    made = QwenCloudEmbedder("qwen-cloud", clock=clock)
    made.load()
    with pytest.raises(EmbedderFailed) as caught:
        made.embed_windows([window(footage, 0.0, 2.0)])
    assert str(caught.value) == (
        "window drive.mp4@0.0-2.0: Qwen Cloud: 401 Unauthorized: Invalid API-key: Bearer [key]; "
        "check DASHSCOPE_API_KEY"
    )
    assert paths(server) == ["uploads"]
    made.close()


def test_a_window_whose_vector_cannot_be_used_is_named(embedder, server, footage):
    server.embed_faults += [Vector([float("nan")] * 2560)]
    with pytest.raises(EmbedderFailed, match=r"^window drive\.mp4@5\.0-10\.0: the vector is not finite$"):
        embedder.embed_windows([window(footage, 5.0, 10.0)])


def test_the_revision_names_what_the_vectors_depend_on():
    revision = QwenCloudEmbedder("qwen-cloud").revision
    for part in ("qwen3-vl-embedding", "2560d", "640px", "2fps", "Retrieve videos"):
        assert part in revision
