"""DataSynthesizer's Bayesian network (PrivBayes), in its own environment: one release of a table.

    python data_synthesizer.py INPUT.csv OUTPUT.csv SEED EPSILON

Epsilon 0 means no noise, as in the package. The release has as many rows as the table. Labels and ranges of columns are
taken from the table, as the package does if it is told nothing else; the package adds no noise to them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

PARENTS = 2
"""The most parents of a column in the network."""


def main(table: str, release: str, seed: int, epsilon: float) -> None:
    """Describe the table, and draw a release from the description."""
    people = pd.read_csv(table)
    labels = {name: not pd.api.types.is_numeric_dtype(column) for name, column in people.items()}
    with tempfile.TemporaryDirectory() as folder:
        description = str(Path(folder) / "description.json")
        describer = DataDescriber()
        describer.describe_dataset_in_correlated_attribute_mode(
            table,
            epsilon=epsilon,
            k=PARENTS,
            attribute_to_is_categorical=labels,
            attribute_to_is_candidate_key=dict.fromkeys(labels, False),
            seed=seed,
        )
        describer.save_dataset_description_to_file(description)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(people), description, seed=seed)
        generator.save_synthetic_data(release)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
