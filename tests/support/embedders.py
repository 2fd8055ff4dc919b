"""Embedders small enough for tests of what surrounds a model."""

import numpy as np

from sentrysearch.types import Sampling

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "grey": (1, 1, 1)}


class ColourEmbedder:
    """A window's vector is its mean colour, a query's the colour it names."""

    dimension = 3
    revision = "colour-1"
    sampling = Sampling(fps=1.0, min_frames=1)
    batch_size = 1
    concurrency = 1

    def __init__(self, name="colour"):
        self.name = name
        self.loaded = 0
        self.embedded = []
        self.queries = []
        self.closed = False

    def load(self):
        self.loaded += 1

    def prepare(self, picture):
        return picture.rgb(8, 8)

    def embed_windows(self, batch):
        self.embedded += [item.window for item in batch]
        return np.stack(
            [self._unit(np.mean([frame.data for frame in item.frames], (0, 1, 2))) for item in batch]
        )

    def embed_query(self, text):
        self.queries.append(text)
        return self._unit(np.array(COLOURS[text]))

    def close(self):
        self.closed = True

    @staticmethod
    def _unit(values):
        values = values.astype(np.float32) + 1e-3
        return values / np.linalg.norm(values)
