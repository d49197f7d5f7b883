"""A privacy tool or a record linker on the tables of the benchmarks, in its own environment.

    python tools.py NAME ORIGINAL.parquet RELEASE.parquet

Prints the seconds of the measurement itself; importing the tool and reading the tables are not counted.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import pandas as pd

NUMBERS = ["age", "days_after_ad", "hour", "day_of_week"]
CATEGORIES = ["gender", "region", "ad_channel", "purchase_place", "brand_product"]
Measure = Callable[[], object]


def table(file: str) -> pd.DataFrame:
    """The compared columns, times as hour and day of the week."""
    frame = pd.read_parquet(file)
    times = pd.to_datetime(frame["purchase_time"])
    frame["hour"], frame["day_of_week"] = times.dt.hour, times.dt.dayofweek
    frame["age_decade"], frame["region_1"] = frame["age"] // 10, frame["region"].str.split("/").str[0]
    return frame


def sdmetrics(original: pd.DataFrame, release: pd.DataFrame) -> Measure:
    """Distance to the closest record of every row (DCR baseline protection)."""
    from sdmetrics.single_table import DCRBaselineProtection  # noqa: PLC0415

    columns = {name: {"sdtype": "numerical"} for name in NUMBERS} | {
        name: {"sdtype": "categorical"} for name in CATEGORIES
    }
    real, made = original[NUMBERS + CATEGORIES], release[NUMBERS + CATEGORIES]
    metadata = {"tables": {"people": {"columns": columns}}}
    return lambda: DCRBaselineProtection.compute_breakdown(real, made, metadata, "people")


def anonymeter(original: pd.DataFrame, release: pd.DataFrame) -> Measure:
    """Linkability of every original, the columns halved between the attacker's two data sets."""
    from anonymeter.evaluators import LinkabilityEvaluator  # noqa: PLC0415

    columns = NUMBERS + CATEGORIES
    half = ["age", "gender", "region", "hour"]
    other = [name for name in columns if name not in half]
    evaluator = LinkabilityEvaluator(
        original[columns], release[columns], aux_cols=(half, other), n_attacks=len(original), n_neighbors=1
    )
    return lambda: evaluator.evaluate(n_jobs=-1)


def syntheval(original: pd.DataFrame, release: pd.DataFrame) -> Measure:
    """Its two distance metrics of privacy: distance to the closest record, and nearest-neighbour distance ratio."""
    from syntheval import SynthEval  # noqa: PLC0415

    columns = NUMBERS + CATEGORIES
    evaluator = SynthEval(
        original[columns].astype(dict.fromkeys(CATEGORIES, "object")), cat_cols=CATEGORIES, verbose=False
    )
    return lambda: evaluator.evaluate(release[columns], dcr={}, nndr={})


def splink(original: pd.DataFrame, release: pd.DataFrame) -> Measure:
    """Fellegi-Sunter with EM, blocked by age decade, gender and first region level; all pairs scored."""
    import splink.comparison_library as cl  # noqa: PLC0415
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on  # noqa: PLC0415

    columns = ["person_id", *NUMBERS, *CATEGORIES, "age_decade", "region_1"]
    blocked = block_on("age_decade", "gender", "region_1")
    settings = SettingsCreator(
        link_type="link_only",
        unique_id_column_name="person_id",
        comparisons=[cl.ExactMatch(name) for name in NUMBERS + CATEGORIES if name != "gender"],
        blocking_rules_to_generate_predictions=[blocked],
    )

    def measure() -> object:
        engine = DuckDBAPI()
        linker = Linker([engine.register(side[columns]) for side in (original, release)], settings)
        linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
        linker.training.estimate_parameters_using_expectation_maximisation(block_on("brand_product", "age"))
        linker.training.estimate_parameters_using_expectation_maximisation(block_on("region", "hour"))
        scored = linker.inference.predict()
        query = f"SELECT max(match_weight) FROM {scored.physical_name} GROUP BY person_id_l"
        return linker.misc.query_sql(query)

    return measure


def recordlinkage(original: pd.DataFrame, release: pd.DataFrame) -> Measure:
    """Its comparison vectors and the EM classifier, under the same blocking."""
    import recordlinkage as rl  # noqa: PLC0415

    def measure() -> object:
        indexer = rl.Index()
        indexer.block(["age_decade", "gender", "region_1"])
        pairs = indexer.index(original, release)
        compare = rl.Compare(n_jobs=2)
        for name in NUMBERS + CATEGORIES:
            if name != "gender":
                compare.exact(name, name, label=name)
        return rl.ECMClassifier().fit_predict(compare.compute(pairs, original, release))

    return measure


def main(name: str, original: str, release: str) -> None:
    """Measure once."""
    warnings.simplefilter("ignore")
    prepare = {item.__name__: item for item in (sdmetrics, anonymeter, syntheval, splink, recordlinkage)}[name]
    measure = prepare(table(original), table(release))
    start = time.perf_counter()
    measure()
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
