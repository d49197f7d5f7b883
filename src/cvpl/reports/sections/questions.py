"""The sections on questions beside linkage: inference, singling out, membership, and a stated population."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cvpl.reports.sections.section import PAGE, REPORTS, SCREENS, Column, Remark, ReportSection, ReportTable, table_of
from cvpl.result import (
    AttributeInference,
    AuditResult,
    Inference,
    InferenceRow,
    Membership,
    MembershipRate,
    Population,
    PredicateRow,
    Reconstruction,
    SinglingOut,
    UniqueRecords,
)
from cvpl.wording import (
    UNKNOWN,
    bracketed_span,
    count_phrase,
    mark_name,
    percent,
    printable,
    sentence,
    share_words,
    span,
)

SCORES = {"accuracy": "accuracy", "rarity_weighted": "by rarity"}
ATTACKERS = {
    "best_candidate": "best candidate",
    "nearest_record": "nearest record",
    "vote": "vote of the nearest",
    "compatible_class": "compatible class",
    "boosted_trees": "boosted trees",
    "forest": "forest",
    "model_and_link": "models and link",
}
NO_CONTROL = (
    "There is no control, so nothing can be attributed to the release: a guess may be right because of what is known "
    "about everybody."
)
POPULATION = (
    "What attackers also guess for controls is knowledge about the population. It would hold if the person were not in "
    "the release."
)


def inference_section(result: AuditResult) -> ReportSection:
    """The inference rate, the strongest attacker on each secret, and all attackers; nothing if it was not asked."""
    found = result.inference
    if found is None:
        return ReportSection("inference", "Attribute inference")
    sentences = [Remark(_inference_rate(found, result))]
    if found.together is not None and found.together.attackers:
        sentences.append(Remark(_joint_sentence(found.together, result)))
    tables = (_strongest(found, result), _attackers(found, result))
    return ReportSection(
        "inference",
        "Attribute inference",
        sentences=tuple(sentences),
        tables=tuple(table for table in tables if table.rows),
        notes=_inference_notes(found),
        outputs=REPORTS,
    )


def inference_words(found: Inference, k: int) -> str:
    """The inference rate with the interval of its attacker; the upper end over all figures is added if it is higher."""
    rate = found.rate
    if rate is None:
        return UNKNOWN
    row = next(iter(_rows_of(found, rate.column, rate.attacker, rate.score)), None)
    high = rate.high if row is None else row.attributable_high
    text = f"{share_words(rate.estimate, k=k)}{bracketed_span(rate.low, high)}"
    if rate.high is not None and (high is None or rate.high > high):
        text += f", at most {percent(rate.high)} for any attacker, column and score"
    return text


def _rows_of(found: Inference, column: str, attacker: str, score: str) -> list[InferenceRow]:
    rows = [row for one in found.secrets if one.column == column for row in one.attackers]
    return [row for row in rows if row.attacker == attacker and row.score == score]


def _inference_rate(found: Inference, result: AuditResult) -> str:
    rate, k = found.rate, result.suppress_below
    if rate is None:
        refused = [one for one in found.secrets if one.refused is not None]
        return NO_CONTROL if found.asked_controls is None else sentence(_refusals(refused))
    row = _rows_of(found, rate.column, rate.attacker, rate.score)[0]
    weighted = ", weighted by rarity" if rate.score == "rarity_weighted" else ""
    return (
        f"Inference rate: {inference_words(found, k)}. The value of {mark_name(rate.column)} is guessed right for "
        f"{share_words(row.originals, k=k, of='')} of the originals and {share_words(row.controls, k=k, of='')} of the "
        f"controls{weighted}, by the attacker {ATTACKERS[rate.attacker]}. The rate is the difference, relative to the "
        f"share of controls that are not guessed right. {_largest(rate.among)}{POPULATION}"
    )


def _largest(among: int | None) -> str:
    """That the rate is the largest of several figures; nothing for one, or in a result that does not say."""
    if among is None or among < 2:
        return ""
    return f"It is the largest of {among} figures, so it is somewhat too high by itself; its interval allows for that. "


def _refusals(secrets: Sequence[AttributeInference]) -> str:
    return "; ".join(f"nothing is attributed for {mark_name(one.column)}: {one.refused}" for one in secrets)


def _joint_sentence(found: Reconstruction, result: AuditResult) -> str:
    k, best = result.suppress_below, found.attackers[0]
    names = ", ".join(map(mark_name, found.columns))
    control = (
        f" of the originals and for {share_words(best.controls, k=k, of='')} of the controls"
        if best.controls is not None
        else ""
    )
    gain = ""
    if best.attributable is not None:
        ends = bracketed_span(best.attributable_low, best.attributable_high)
        gain = f"; attributable to the release: {share_words(best.attributable, k=k)}{ends}"
    return (
        f"Several secrets at once: {names} are all right for {share_words(best.originals, k=k, of='')}"
        f"{control or ' of the originals'}, by the attacker {ATTACKERS[best.attacker]}{gain}."
    )


def _strongest(found: Inference, result: AuditResult) -> ReportTable:
    """For each sensitive column and score, the strongest attacker and the baselines."""
    k = result.suppress_below
    columns: tuple[Column[tuple[AttributeInference, InferenceRow]], ...] = (
        Column("secret", lambda row: mark_name(row[0].column), "name"),
        Column("score", lambda row: SCORES[row[1].score], "left"),
        Column("strongest attacker", lambda row: ATTACKERS[row[1].attacker], "left"),
        *_guesses(k),
        Column("commonest value", lambda row: percent(_baseline(*row, "commonest_value"), k=k), least_width=120),
        Column("model of controls", lambda row: percent(_baseline(*row, "control_model"), k=k), least_width=120),
    )
    strongest = [
        (one, next(row for row in one.attackers if row.score == score))
        for one in found.secrets
        for score in SCORES
        if any(row.score == score for row in one.attackers)
    ]
    return table_of("The strongest attacker on each secret", strongest, columns, captioned=True)


def _guesses(k: int) -> tuple[Column[tuple[AttributeInference, InferenceRow]], ...]:
    """The columns with how often an attacker guesses right."""
    return (
        Column("originals", lambda row: percent(row[1].originals, k=k)),
        Column("controls", lambda row: percent(row[1].controls, k=k)),
        Column("attributable", lambda row: percent(row[1].attributable, k=k)),
        Column("interval", lambda row: span(row[1].attributable_low, row[1].attributable_high)),
    )


def _baseline(one: AttributeInference, row: InferenceRow, name: str) -> float | None:
    """How often a baseline guesses right; None if it was not run."""
    found = (item.originals for item in one.baselines if item.score == row.score and item.baseline == name)
    return next(found, None)


def _attackers(found: Inference, result: AuditResult) -> ReportTable:
    """Every attacker by accuracy."""
    columns: tuple[Column[tuple[AttributeInference, InferenceRow]], ...] = (
        Column("secret", lambda row: mark_name(row[0].column), "name"),
        Column("attacker", lambda row: ATTACKERS[row[1].attacker], "left"),
        Column("columns", lambda row: str(row[1].columns)),
        Column("score", lambda row: SCORES[row[1].score], "left"),
        *_guesses(result.suppress_below),
    )
    rows = [(one, row) for one in found.secrets for row in one.attackers]
    return table_of("All attackers on secrets", rows, columns, outputs=PAGE, folded=True)


def _inference_notes(found: Inference) -> tuple[str, ...]:
    controls = "" if found.asked_controls is None else f" and {count_phrase(found.asked_controls, 'control')}"
    notes = [
        f"{count_phrase(found.asked_originals, 'original')}{controls} were asked about. Candidates are those of the "
        f"attacker {mark_name(found.link)}, which does not compare the secret. The intervals hold together over "
        "attackers, secrets and scores, and over the choice of columns; their coverage was measured in simulated "
        "worlds only. The strongest of several attackers is somewhat too high by itself.",
        "Accuracy is the share of people who are guessed right; by rarity, the rarer a person's value, the more the "
        "person counts. The commonest value is the guess for anybody."
        + (" The model of controls is trained on some controls, and tested on others." if controls else ""),
    ]
    for one in found.secrets:
        known = ", ".join(map(mark_name, one.known))
        notes.append(f"{mark_name(one.column)}: the attacker knows {known}.{_tolerance(one)}")
    if found.trained_on is not None:
        notes.append(f"Models were trained on {count_phrase(found.trained_on, 'released record')}, at most 100,000.")
    if found.not_run:
        names = ", ".join(ATTACKERS[name] for name in found.not_run)
        notes.append(f"Not run: {names}. They need scikit-learn, the extra cvpl[inference].")
    if found.left_out:
        notes.append(
            f"Not asked: {', '.join(map(mark_name, found.left_out))}. A table lacks the column, or has no value in it."
        )
    if found.rate is not None and any(one.refused for one in found.secrets):
        notes.append(sentence(_refusals([one for one in found.secrets if one.refused])))
    return tuple(notes)


def _tolerance(one: AttributeInference) -> str:
    if one.relative_tolerance is not None:
        return f" A guess is right within {percent(one.relative_tolerance)} of the number."
    if one.tolerance is not None:
        unit = " days" if one.kind == "time" else ""
        return f" A guess is right within {one.tolerance:g}{unit}."
    return ""


_SETS = 10
"""The sets of columns that are shown."""
CHANCE = (
    "The released record can belong to somebody else with the same values. How often that happens to strangers was not "
    "measured, so this share cannot be judged alone."
)
"""How to read the share that is unique in both tables."""


def singling_out_section(result: AuditResult) -> ReportSection:
    """The rate of predicates, then unique records; nothing if it was not measured."""
    found = result.singling_out
    if found is None:
        return ReportSection("singling_out", "Singling out")
    return ReportSection(
        "singling_out",
        "Singling out",
        sentences=tuple(Remark(text) for text in (_singled_out_rate(found, result), _exact(found, result)) if text),
        tables=tuple(table for table in (_predicates(found, result), _uniques(found, result)) if table.rows),
        notes=_singling_out_notes(found, result),
        outputs=SCREENS,
    )


def singled_out_words(found: SinglingOut, k: int) -> str:
    """The singled-out rate with its interval, as its row of the table has them; empty if there is no rate.

    The upper end over all rows, which a policy bounds, is added if it is higher.
    """
    rate = found.rate
    if rate is None:
        return ""
    row = next((row for row in found.predicates if row.columns == rate.columns), None)
    estimate, low, high = rate.estimate, rate.low, rate.high
    if row is not None:
        estimate, low, high = _figures(row)
    text = f"{share_words(estimate, k=k, of='predicates')}{bracketed_span(low, high)}"
    if row is not None and rate.high is not None and (high is None or rate.high > high):
        text += f", at most {percent(rate.high)} for any number of columns"
    return text


def _figures(row: PredicateRow) -> tuple[float, float | None, float | None]:
    """The attributable share of a row with its interval; without a control the plain share."""
    if row.attributable is None:
        return row.rate, row.low, row.high
    return row.attributable, row.attributable_low, row.attributable_high


def _singled_out_rate(found: SinglingOut, result: AuditResult) -> str:
    rate = found.rate
    if rate is None:
        return "No predicate of up to three columns describes exactly one released record."
    text = (
        f"Singled-out rate: {singled_out_words(found, result.suppress_below)}. It is the share of the predicates of "
        f"{count_phrase(rate.columns, 'column')}, each of which describes exactly one released record, that describe "
        "exactly one original"
    )
    if rate.basis == "none":
        return f"{text}. Without a control it is not known how many would do so by chance."
    return f"{text}, beyond the share that describes exactly one of as many people who are not in the release."


def _exact(found: SinglingOut, result: AuditResult) -> str:
    exact = found.exact_rows
    if exact is None or exact.released is None:
        return ""
    k = result.suppress_below
    control = ""
    if exact.control_released is not None:
        control = f"; of unique controls, that of {share_words(exact.control_released, k=k)}"
    return (
        f"{share_words(exact.unique, k=k, of='')} of the originals are unique on the shared columns. The exact row of "
        f"{share_words(exact.released, k=k, of='')} of them is in the release{control}."
    )


def _predicates(found: SinglingOut, result: AuditResult) -> ReportTable:
    k = result.suppress_below
    return table_of(
        "Predicates from the release",
        found.predicates,
        (
            Column("columns", lambda row: str(row.columns)),
            Column("predicates", lambda row: f"{row.predicates:,}"),
            Column("single out an original", lambda row: percent(row.rate, k=k, of="predicates")),
            Column("a control", lambda row: percent(row.control_rate, k=k, of="predicates")),
            Column("attributable", lambda row: percent(row.attributable, k=k, of="predicates")),
            Column("interval", lambda row: span(*_figures(row)[1:])),
        ),
        captioned=True,
    )


def _uniques(found: SinglingOut, result: AuditResult) -> ReportTable:
    k = result.suppress_below
    first: list[tuple[str, UniqueRecords]] = [("all compared columns", found.all_columns)]
    if found.quasi_identifiers is not None:
        first.append(("all quasi-identifiers", found.quasi_identifiers))
    largest = sorted(found.sets, key=lambda item: (-item.both, -item.original, len(item.columns)))[:_SETS]
    listed = [*first, *((", ".join(map(mark_name, item.columns)), item) for item in largest if item.original > 0)]
    columns: tuple[Column[tuple[str, UniqueRecords]], ...] = (
        Column("columns", lambda row: row[0], "left"),
        Column("unique originals", lambda row: percent(row[1].original, k=k)),
        Column("unique records", lambda row: percent(row[1].released, k=k, of="records")),
        Column("unique in both", lambda row: percent(row[1].both, k=k)),
    )
    return table_of("Unique records by columns", listed, columns, outputs=PAGE, captioned=True)


def _singling_out_notes(found: SinglingOut, result: AuditResult) -> tuple[str, ...]:
    notes = [f"Unique in both: an original that is unique, and whose values exactly one released record has. {CHANCE}"]
    if found.quasi_identifiers is not None:
        names = ", ".join(map(mark_name, found.quasi_identifiers.columns))
        notes.append(f"The quasi-identifiers are {names}.")
    if found.sets_left_out:
        notes.append(
            f"The tables are large: {count_phrase(found.sets_searched, 'set')} of columns were searched, and "
            f"{found.sets_left_out:,} were not."
        )
    if found.suda is not None:
        scored = share_words(found.suda.scored, k=result.suppress_below, of="")
        notes.append(
            "SUDA2 scores an original by the sets of quasi-identifiers that make it unique: 0 means that no set of "
            "fewer than all of them does. The score is higher the fewer columns are needed, and the more such sets "
            "there are. "
            f"{sentence(f'{scored} of the originals have a score above 0; the mean is {found.suda.mean:g}')}"
        )
    return tuple(notes)


HEADING = "Membership"
_CHANCE = 0.5
_SAME = 1e-9


def membership_section(result: AuditResult) -> ReportSection:
    """The best true-positive rates and the area under the curve; without a control, that it was not measured."""
    found = result.membership
    if found is None:
        return ReportSection("membership", HEADING)
    sentences = [Remark(_membership_sentence(found, result))]
    if result.verdict.kind == "not_assessable":
        text = "The release is not assessable. These figures say nothing of the risk."
        sentences.insert(0, Remark(text, "notice"))
    return ReportSection(
        "membership",
        HEADING,
        sentences=tuple(sentences),
        tables=(_table(found, result),),
        notes=_membership_notes(found),
        outputs=REPORTS,
    )


def area_words(found: Membership) -> str:
    """The area under the curve with its interval: three decimals, or two if they tell all."""
    area = found.auc
    numbers = [area.estimate] if area.low is None or area.high is None else [area.estimate, area.low, area.high]
    decimals = 2 if all(abs(value - round(value, 2)) < _SAME for value in numbers) else 3
    first, *ends = (f"{value:.{decimals}f}" for value in numbers)
    return f"{first} ({' to '.join(ends)})" if ends else first


def _membership_sentence(found: Membership, result: AuditResult) -> str:
    area = found.auc
    text = (
        f"A person in the release scores higher than one who is not with a probability of {area_words(found)}, by "
        f"attacker '{printable(area.attacker)}' (the area under the ROC curve; 0.5 is chance)."
    )
    if area.low is not None and area.low > _CHANCE:
        text += " So being in the release can be told."
    elif area.low is not None and area.high is not None and area.high >= _CHANCE:
        text += " That cannot be told from chance."
    first = next((rate for rate in found.rates if rate.low is not None), None)
    if first is not None and not _is_chance(first):
        share = share_words(first.power, k=result.suppress_below, of="")
        at, ends = _false_rate(first.false_rate), span(first.low, first.high)
        text += f" At a false-positive rate of {at}, {share} of the people in it are found ({ends})."
    return text


def _is_chance(rate: MembershipRate) -> bool:
    return rate.low is not None and rate.low <= rate.false_rate


def _false_rate(value: float) -> str:
    return f"{value:.1%}" if value < 0.01 else f"{value:.0%}"


def _table(found: Membership, result: AuditResult) -> ReportTable:
    k, prior = result.suppress_below, found.prior is not None

    def measured(text: Callable[[MembershipRate], str], otherwise: str) -> Callable[[MembershipRate], str]:
        return lambda rate: otherwise if rate.low is None else text(rate)

    return table_of(
        "True-positive rate of the best attacker",
        found.rates,
        (
            Column("false-positive rate", lambda rate: f"at {_false_rate(rate.false_rate)}", "left"),
            Column("found", measured(lambda rate: percent(rate.power, k=k), UNKNOWN)),
            Column("95% interval", measured(lambda rate: span(rate.low, rate.high), "too few people")),
            Column("best attacker", measured(lambda rate: printable(rate.attacker), ""), "name"),
            Column("right", measured(lambda rate: percent(rate.precision), UNKNOWN), shown=prior),
            Column(
                "interval of right",
                measured(lambda rate: span(rate.precision_low, rate.precision_high), ""),
                least_width=100,
                shown=prior,
            ),
        ),
    )


def _membership_notes(found: Membership) -> tuple[str, ...]:
    notes = [
        "Found: taken to be in the release, and in it, where the stated share of people who are not in it is taken to "
        f"be in it too. Measured with {count_phrase(found.controls, 'control')}; each row has the attacker that is "
        "best "
        "there, and its interval is corrected for that choice."
    ]
    if all(rate.false_rate >= 0.01 for rate in found.rates):
        notes.append("A false-positive rate of 0.1% needs 10,000 controls.")
    if found.prior is not None:
        notes.append(
            "Right: if everybody in the population is tested, the share of those taken to be in the "
            f"release who are in it. A guess is right for {percent(found.prior)}."
        )
    return tuple(notes)


def population_section(result: AuditResult) -> ReportSection:
    """One sentence, and the precision at each false-positive rate; nothing if the population is not given."""
    heading, found = "How often a link is right", result.population
    if found is None:
        return ReportSection("population", heading)
    powers = {power.false_rate: power.power for power in result.power or ()}
    table = table_of(
        heading,
        found.precision,
        (
            Column("false-positive rate", lambda item: f"{item.false_rate:.0%}"),
            Column("power", lambda item: percent(powers[item.false_rate], k=result.suppress_below)),
            Column("links that are right", lambda item: UNKNOWN if item.low is None else percent(item.precision)),
            Column("95% interval", lambda item: span(item.low, item.high)),
        ),
    )
    return ReportSection(
        "population",
        heading,
        sentences=(Remark(_population_sentence(result, found)),),
        tables=(table,) if table.rows else (),
        notes=("A link is right if the person is in the table, whichever record it points to.",) if table.rows else (),
        outputs=REPORTS,
    )


def _population_sentence(result: AuditResult, found: Population) -> str:
    are_in = "is" if found.people == 1 else "are"
    people = f"{count_phrase(found.people, 'person', 'people')} of a population of {found.size:,} {are_in} in the table"
    first = None if result.risk is None else result.risk.false_rate
    read = next((item for item in found.precision if item.false_rate == first and item.low is not None), None)
    if read is None or read.precision is None:
        reason = "how often a link is right is not known without a control, or with too few controls"
        return f"{people}; {reason}."
    right = f"{percent(read.precision)} ({span(read.low, read.high)})"
    return (
        f"{people}. If an attacker looks for everybody in the population and links {read.false_rate:.0%} of those who "
        f"are not in the table, {right} of the links are right; by guessing, {percent(found.share)} would be."
    )
