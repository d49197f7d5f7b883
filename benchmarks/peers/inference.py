"""What Anonymeter and SDMetrics infer of a secret column of Adult, each in its own environment.

    python inference.py NAME DATA RELEASE PEOPLE SEED SECRET...

NAME is `anonymeter` or `sdmetrics`. PEOPLE originals and as many controls, drawn by the seed, are asked; all other
columns are known. Printed is one JSON object with, for each secret, the score of every person in `originals` and
`controls`, and their weights by rarity, -log of the share of their value among all originals and controls.

anonymeter   its `InferenceEvaluator` with the default attack, the nearest released record by its distance: 1 where the
             guess is right. Its search sorts the distances of all records; here one by the same distance keeps the
             nearest, the first if several are as near, which takes a tenth of the time
sdmetrics    its CAP attacker on numbers in ten bins, as in its `DisclosureProtection`: the share of the person's value
             among the released records that equal the person in all known columns; null where there are none
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def keep_the_nearest() -> None:
    """Let Anonymeter search without sorting: a distance is given up as soon as it is above the smallest so far."""
    import anonymeter.evaluators  # noqa: F401, PLC0415 - its modules import one another, this one first
    from anonymeter.neighbors import mixed_types_kneighbors as neighbours  # noqa: PLC0415
    from numba import jit  # noqa: PLC0415

    @jit(nopython=True, nogil=True)
    def nearest(queries, candidates, cat_cols_index, n_neighbors):
        index, least = np.zeros((len(queries), 1), dtype=np.int64), np.full((len(queries), 1), np.inf)
        for query in range(len(queries)):
            for candidate in range(len(candidates)):
                distance = 0.0
                for column in range(queries.shape[1]):
                    one, other = queries[query, column], candidates[candidate, column]
                    if np.isnan(one) and np.isnan(other):
                        distance += 1
                    elif column < cat_cols_index:
                        distance += abs(one - other)
                    elif one != other:
                        distance += 1
                    if distance >= least[query, 0]:
                        break
                if distance < least[query, 0]:
                    index[query, 0], least[query, 0] = candidate, distance
        return index, least

    neighbours._nearest_neighbors = nearest


def by_anonymeter(originals: pd.DataFrame, controls: pd.DataFrame, released: pd.DataFrame, secret: str) -> dict:
    """Whether the guess of each person is right, and the risk that Anonymeter prints."""
    from anonymeter.evaluators import InferenceEvaluator  # noqa: PLC0415
    from anonymeter.evaluators.inference_evaluator import evaluate_inference_guesses  # noqa: PLC0415

    known = [name for name in released if name != secret]
    evaluator = InferenceEvaluator(
        originals, released, aux_cols=known, secret=secret, regression=False, n_attacks=len(originals), control=controls
    )
    evaluator.evaluate(n_jobs=1)
    hits = []
    for people, guesses in ((originals, evaluator._guesses_success), (controls, evaluator._guesses_control)):
        secrets = people[secret].loc[guesses.index]
        right = evaluate_inference_guesses(guesses=guesses, secrets=secrets, regression=False)
        hits.append(pd.Series(right.astype(float), guesses.index).loc[people.index].tolist())
    return {"originals": hits[0], "controls": hits[1], "own_figure": float(evaluator.risk().value)}


class Columns:
    """A table that keeps the columns that are asked for: the attacker asks for the same ones at every record."""

    def __init__(self, table: pd.DataFrame):
        self.table = table
        self.kept: dict[tuple[str, ...], pd.DataFrame] = {}

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, names: list[str]) -> pd.DataFrame:
        if tuple(names) not in self.kept:
            self.kept[tuple(names)] = self.table[names].astype(object)
        return self.kept[tuple(names)]


def by_sdmetrics(originals: pd.DataFrame, controls: pd.DataFrame, released: pd.DataFrame, secret: str) -> dict:
    """The share of each person's value among the released records with the same known values."""
    from sdmetrics.single_table.privacy import DisclosureProtection  # noqa: PLC0415
    from sdmetrics.single_table.privacy.cap import CAPAttacker  # noqa: PLC0415

    known = [name for name in released if name != secret]
    numbers = [name for name in known if pd.api.types.is_numeric_dtype(released[name])]
    people = pd.concat([originals, controls])
    real, made = DisclosureProtection._discretize_and_fillna(people, released, known, [secret], numbers, 10)
    attacker = CAPAttacker()
    attacker.fit(Columns(made), known, [secret])
    keys, secrets = real[known].astype(object).itertuples(index=False), real[[secret]].itertuples(index=False)
    scores = [attacker.score(tuple(key), tuple(value)) for key, value in zip(keys, secrets, strict=True)]
    return {"originals": scores[: len(originals)], "controls": scores[len(originals) :]}


def main(name: str, data: str, release: str, people: str, seed: str, *secrets: str) -> None:
    """Ask about the secrets of one release."""
    originals, controls, released = (pd.read_csv(Path(data) / f"{item}.csv.gz") for item in ("trn", "val", release))
    everybody = pd.concat([originals, controls], ignore_index=True)
    rng = np.random.default_rng(int(seed))
    np.random.seed(int(seed))  # noqa: NPY002 - Anonymeter draws from the global generator
    rows = [np.sort(rng.choice(len(table), int(people), replace=False)) for table in (originals, controls)]
    asked = [everybody.iloc[rows[0]], everybody.iloc[len(originals) + rows[1]]]
    if name == "anonymeter":
        keep_the_nearest()
    found = {}
    for secret in secrets:
        shares = everybody[secret].value_counts(normalize=True)
        scores = (by_anonymeter if name == "anonymeter" else by_sdmetrics)(*asked, released[everybody.columns], secret)
        found[secret] = scores | {"weights": [(-np.log(table[secret].map(shares))).tolist() for table in asked]}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
