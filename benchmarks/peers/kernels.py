"""Exact nearest neighbours by a library, in its own environment: the two best cosines of every original, unblocked.

python kernels.py scikit-learn|faiss VECTORS.npz
"""

from __future__ import annotations

import sys
import time

import numpy as np


def scikit_learn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Its k-d tree, which on these vectors is faster than its brute force."""
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415

    distances, _ = NearestNeighbors(n_neighbors=2, algorithm="kd_tree", n_jobs=-1).fit(b).kneighbors(a)
    return 1 - distances**2 / 2


def faiss_flat(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The flat index of inner products."""
    import faiss  # noqa: PLC0415

    index = faiss.IndexFlatIP(b.shape[1])
    index.add(b)
    scores, _ = index.search(a, 2)
    return scores


def main(name: str, file: str) -> None:
    """Print the seconds, and the mean of the best."""
    with np.load(file) as vectors:
        a, b = (vectors[side].astype(np.float32) for side in ("a", "b"))
    way = {"scikit-learn": scikit_learn, "faiss": faiss_flat}[name]
    way(a[:100], b[:1000])
    start = time.perf_counter()
    found = way(a, b)
    print(time.perf_counter() - start, float(found[:, 0].mean()))


if __name__ == "__main__":
    main(*sys.argv[1:])
