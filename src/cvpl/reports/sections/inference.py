"""What attackers infer of secret columns: the strongest on each, the baselines, and several secrets at once."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.reports.sections.section import PAGE, REPORTS, Column, Remark, ReportSection, ReportTable, table_of
from cvpl.result import AuditResult, Inference, InferenceRow, Reconstruction, SecretInference
from cvpl.wording import UNKNOWN, bracketed_span, counted, in_words, named, percent, sentence, span

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
    sentences = [Remark(_rate(found, result))]
    if found.together is not None and found.together.attackers:
        sentences.append(Remark(_joint_sentence(found.together, result)))
    tables = (_strongest(found, result), _attackers(found, result))
    return ReportSection(
        "inference",
        "Attribute inference",
        sentences=tuple(sentences),
        tables=tuple(table for table in tables if table.rows),
        notes=_notes(found),
        outputs=REPORTS,
    )


def inference_words(found: Inference, k: int) -> str:
    """The inference rate with the interval of its attacker; the upper end over all figures is added if it is higher."""
    rate = found.rate
    if rate is None:
        return UNKNOWN
    row = next(iter(_rows_of(found, rate.column, rate.attacker, rate.score)), None)
    high = rate.high if row is None else row.attributable_high
    text = f"{in_words(rate.estimate, k=k)}{bracketed_span(rate.low, high)}"
    if rate.high is not None and (high is None or rate.high > high):
        text += f", at most {percent(rate.high)} for any attacker, column and score"
    return text


def _rows_of(found: Inference, column: str, attacker: str, score: str) -> list[InferenceRow]:
    rows = [row for one in found.secrets if one.column == column for row in one.attackers]
    return [row for row in rows if row.attacker == attacker and row.score == score]


def _rate(found: Inference, result: AuditResult) -> str:
    rate, k = found.rate, result.suppress_below
    if rate is None:
        refused = [one for one in found.secrets if one.refused is not None]
        return NO_CONTROL if found.asked_controls is None else sentence(_refusals(refused))
    row = _rows_of(found, rate.column, rate.attacker, rate.score)[0]
    weighted = ", weighted by rarity" if rate.score == "rarity_weighted" else ""
    return (
        f"Inference rate: {inference_words(found, k)}. The value of {named(rate.column)} is guessed right for "
        f"{in_words(row.originals, k=k, of='')} of the originals and {in_words(row.controls, k=k, of='')} of the "
        f"controls{weighted}, by the attacker {ATTACKERS[rate.attacker]}. The rate is the difference, relative to the "
        f"share of controls that are not guessed right. {_largest(rate.among)}{POPULATION}"
    )


def _largest(among: int | None) -> str:
    """That the rate is the largest of several figures; nothing for one, or in a result that does not say."""
    if among is None or among < 2:
        return ""
    return f"It is the largest of {among} figures, so it is somewhat too high by itself; its interval allows for that. "


def _refusals(secrets: Sequence[SecretInference]) -> str:
    return "; ".join(f"nothing is attributed for {named(one.column)}: {one.refused}" for one in secrets)


def _joint_sentence(found: Reconstruction, result: AuditResult) -> str:
    k, best = result.suppress_below, found.attackers[0]
    names = ", ".join(map(named, found.columns))
    control = (
        f" of the originals and for {in_words(best.controls, k=k, of='')} of the controls"
        if best.controls is not None
        else ""
    )
    gain = ""
    if best.attributable is not None:
        ends = bracketed_span(best.attributable_low, best.attributable_high)
        gain = f"; attributable to the release: {in_words(best.attributable, k=k)}{ends}"
    return (
        f"Several secrets at once: {names} are all right for {in_words(best.originals, k=k, of='')}"
        f"{control or ' of the originals'}, by the attacker {ATTACKERS[best.attacker]}{gain}."
    )


def _strongest(found: Inference, result: AuditResult) -> ReportTable:
    """For each sensitive column and score, the strongest attacker and the baselines."""
    k = result.suppress_below
    columns: tuple[Column[tuple[SecretInference, InferenceRow]], ...] = (
        Column("secret", lambda row: named(row[0].column), "name"),
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


def _guesses(k: int) -> tuple[Column[tuple[SecretInference, InferenceRow]], ...]:
    """The columns with how often an attacker guesses right."""
    return (
        Column("originals", lambda row: percent(row[1].originals, k=k)),
        Column("controls", lambda row: percent(row[1].controls, k=k)),
        Column("attributable", lambda row: percent(row[1].attributable, k=k)),
        Column("interval", lambda row: span(row[1].attributable_low, row[1].attributable_high)),
    )


def _baseline(one: SecretInference, row: InferenceRow, name: str) -> float | None:
    """How often a baseline guesses right; None if it was not run."""
    found = (item.originals for item in one.baselines if item.score == row.score and item.baseline == name)
    return next(found, None)


def _attackers(found: Inference, result: AuditResult) -> ReportTable:
    """Every attacker by accuracy."""
    columns: tuple[Column[tuple[SecretInference, InferenceRow]], ...] = (
        Column("secret", lambda row: named(row[0].column), "name"),
        Column("attacker", lambda row: ATTACKERS[row[1].attacker], "left"),
        Column("columns", lambda row: str(row[1].columns)),
        Column("score", lambda row: SCORES[row[1].score], "left"),
        *_guesses(result.suppress_below),
    )
    rows = [(one, row) for one in found.secrets for row in one.attackers]
    return table_of("All attackers on secrets", rows, columns, outputs=PAGE, folded=True)


def _notes(found: Inference) -> tuple[str, ...]:
    controls = "" if found.asked_controls is None else f" and {counted(found.asked_controls, 'control')}"
    notes = [
        f"{counted(found.asked_originals, 'original')}{controls} were asked about. Candidates are those of the "
        f"attacker {named(found.link)}, which does not compare the secret. The intervals hold together over "
        "attackers, secrets and scores, and over the choice of columns; their coverage was measured in simulated "
        "worlds only. The strongest of several attackers is somewhat too high by itself.",
        "Accuracy is the share of people who are guessed right; by rarity, the rarer a person's value, the more the "
        "person counts. The commonest value is the guess for anybody."
        + (" The model of controls is trained on some controls, and tested on others." if controls else ""),
    ]
    for one in found.secrets:
        known = ", ".join(map(named, one.known))
        notes.append(f"{named(one.column)}: the attacker knows {known}.{_tolerance(one)}")
    if found.trained_on is not None:
        notes.append(f"Models were trained on {counted(found.trained_on, 'released record')}, at most 100,000.")
    if found.not_run:
        names = ", ".join(ATTACKERS[name] for name in found.not_run)
        notes.append(f"Not run: {names}. They need scikit-learn, the extra cvpl[inference].")
    if found.left_out:
        notes.append(
            f"Not asked: {', '.join(map(named, found.left_out))}. A table lacks the column, or has no value in it."
        )
    if found.rate is not None and any(one.refused for one in found.secrets):
        notes.append(sentence(_refusals([one for one in found.secrets if one.refused])))
    return tuple(notes)


def _tolerance(one: SecretInference) -> str:
    if one.relative_tolerance is not None:
        return f" A guess is right within {percent(one.relative_tolerance)} of the number."
    if one.tolerance is not None:
        unit = " days" if one.kind == "time" else ""
        return f" A guess is right within {one.tolerance:g}{unit}."
    return ""
