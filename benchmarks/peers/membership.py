"""SynthEval's membership inference attack, in its own environment, with a probability for every person.

    python membership.py DATA RELEASE SPLIT.npz OUT.npz SEED

The package tells precision and recall only. Its own code runs here unchanged: its label encoding and min-max scaling,
its one-hot encoding, its split of the hold-out, its draw of released rows, its LightGBM, its five repetitions. Only the
name of the classifier in its module is bound to one that remembers what was fitted, and each of these then scores
everybody. The hold-out is the reference half of the control, so nobody who is scored was in the training.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from syntheval.metrics.privacy import metric_MIA_classification as attack


class Remembered(LGBMClassifier):
    """The classifier as it is, with a list of those that were fitted."""

    fitted: list[tuple[LGBMClassifier, pd.Index]] = []  # noqa: RUF012 - shared on purpose

    def fit(self, X, y, **more):
        """Fit, and remember the classifier with its columns."""
        done = super().fit(X, y, **more)
        self.fitted.append((done, X.columns))
        return done


def main(data: str, release: str, split: str, out: str, seed: str) -> None:
    """Write the mean probability of every member and of every control person."""
    members, control, released = (pd.read_csv(Path(data) / f"{item}.csv.gz") for item in ("trn", "val", release))
    with np.load(split) as rows:
        reference, control = control.iloc[rows["reference"]], control.iloc[rows["control"]]
    people = pd.concat([members, control], ignore_index=True)
    labels = [name for name in people if not pd.api.types.is_numeric_dtype(people[name])]
    numbers = [name for name in people if name not in labels]
    np.random.seed(int(seed))  # noqa: NPY002 - the package draws from the global generator
    attack.LGBMClassifier = Remembered
    metric = attack.MIAClassifier(people, released, reference, cat_cols=labels, num_cols=numbers, verbose=False)
    metric.evaluate()
    encoded = pd.get_dummies(metric.real_data, columns=labels)
    chances = [
        model.predict_proba(encoded.reindex(columns=columns, fill_value=False))[:, 1]
        for model, columns in Remembered.fitted
    ]
    mean = np.mean(chances, axis=0)
    with Path(out).open("wb") as file:
        np.savez(file, members=mean[: len(members)], controls=mean[len(members) :])


if __name__ == "__main__":
    main(*sys.argv[1:])
