"""Texts of which a release kept some words."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.attack import shared_words
from cvpl.attack.shared_words import fitting_words
from cvpl.evaluation.rates import power_at
from cvpl.operators.words import USUAL, is_text, words_of
from cvpl.tables.columns import ColumnSpec, Labels, Table

WORDS = [f"word{number}" for number in range(120)]


def tables(*columns_of_tables):
    """Tables of texts, one column each, with the labels that tables of one pair share."""
    labels = sorted({text for texts in columns_of_tables for text in texts if text is not None})
    code = {text: place for place, text in enumerate(labels)} | {None: -1}
    return [
        table_of(note=Labels(np.array([code[text] for text in texts], dtype=np.int32), tuple(labels)))
        for texts in columns_of_tables
    ]


def table_of(**columns):
    specs = tuple(ColumnSpec(name, "quasi_identifier", "category") for name in columns)
    return Table("people", len(next(iter(columns.values())).codes), specs, columns)


def by_definition(people, released):
    """The formula of the module, a pair of texts at a time."""
    texts = [words_of(text) for text in released if text is not None]
    count = {word: sum(word in text for text in texts) for text in texts for word in text}
    weight = {word: math.log(len(texts) / n) for word, n in count.items() if n <= USUAL * len(texts)}
    found = []
    for person in people:
        own, scores = words_of(person) if person else [], []
        for record in released:
            theirs = words_of(record) if record else []
            score = 0.0
            for word in set(theirs) & weight.keys():
                place = theirs.index(word)
                if word not in own:
                    score -= weight[word]
                elif place < len(own) and own[place] == word:
                    score += 2 * weight[word]
                else:
                    score += weight[word]
            scores.append(score)
        found.append(max(scores))
    return found


def notes(count, rng):
    shares = 1 / np.arange(1, len(WORDS) + 1)
    return [" ".join(rng.choice(WORDS, rng.integers(6, 12), p=shares / shares.sum())) for _ in range(count)]


def redacted(texts, rng, mark="[REDACTED]"):
    return [" ".join(word if rng.random() < 0.5 else mark for word in text.split()).strip() for text in texts]


def test_scores_by_hand():
    """Six texts of which each has a word of its own: log 6 for it, twice at its place, minus that if it is lacking."""
    own = ["red tall house", "house red tall", "red house", "nothing here at all", None]
    kept = ["xx tall xx", "aa bb cc", "dd ee ff", "gg hh ii", "jj kk ll", "mm nn oo"]
    people, released = tables(own, kept)
    # "xx" and "tall" are in one text of six each; every other text costs whoever lacks its three words more.
    one = math.log(6)
    assert fitting_words(people, released, ["note"]) == pytest.approx([one, 0, -2 * one, -2 * one, -2 * one])


@pytest.mark.parametrize("at_once", [2_000_000, 1], ids=["whole", "a person at a time"])
def test_scores_are_those_of_the_definition(monkeypatch, at_once):
    monkeypatch.setattr(shared_words, "SCORES_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    own = notes(40, rng)
    kept = [*redacted(own[:25], rng), None, "", "word3 word3 word90 word3"]
    people, released = tables([*own, None, "word90 word3 word3"], kept)
    found = fitting_words(people, released, ["note"])
    assert found == pytest.approx(by_definition([*own, None, "word90 word3 word3"], kept), abs=1e-9)


def test_several_texts_add_up():
    rng = np.random.default_rng(2)
    own, kept = notes(20, rng), redacted(notes(20, rng), rng)
    people, released = tables(own, kept)
    twice = [table_of(note=table.columns["note"], copy=table.columns["note"]) for table in (people, released)]
    once = fitting_words(people, released, ["note"])
    assert fitting_words(*twice, ["note", "copy"]) == pytest.approx(2 * once)


def test_without_texts_or_records_everybody_scores_nothing():
    people, released = tables(notes(5, np.random.default_rng(3)), [])
    assert fitting_words(people, released, ["note"]).tolist() == [0] * 5
    assert fitting_words(people, people, []).tolist() == [0] * 5


@pytest.mark.parametrize(("mark", "found"), [("[REDACTED]", 0.7), ("", 0.4)], ids=["a mark for each word", "cut out"])
def test_people_are_found_by_the_words_that_are_left_and_strangers_are_not(mark, found):
    rng = np.random.default_rng(4)
    own, others, strangers = notes(300, rng), notes(600, rng), notes(300, rng)
    for kept, least, most in ((own, found, 1.0), (strangers, 0.0, 0.12)):
        people, controls, released = tables(own, others, redacted(kept, rng, mark))
        mine, theirs = (fitting_words(table, released, ["note"]) for table in (people, controls))
        assert least <= power_at(mine, theirs, 0.05) <= most


def test_names_are_texts_and_dates_codes_levels_and_few_labels_are_none():
    def are_texts(labels):
        return is_text(sorted(set(labels)), np.unique(labels, return_counts=True)[1])

    places = range(60)
    assert are_texts([f"Anna{place} Miller" for place in places])
    assert not are_texts([f"2024-05-{place}" for place in places])
    assert not are_texts([f"A-{place}" for place in places])
    assert not are_texts([f"Europe/Austria/Town{place}" for place in places])
    assert not are_texts(["never married", "self employed", "no answer"] * 20)


def test_the_member_runs_only_where_there_are_texts():
    rng = np.random.default_rng(5)
    everybody = [{"note": note, "code": f"c{rng.integers(5)}"} for note in notes(900, rng)]
    frame = pd.DataFrame(everybody)
    original, control = frame[:300], frame[300:]
    released = original.assign(note=redacted(original["note"], rng), code=rng.permutation(original["code"]))
    columns = {name: {"role": "quasi_identifier", "type": "category"} for name in ("note", "code")}
    config = {"columns": columns, "attacker": "default", "canaries": False, "sensitivity": False}
    found = cvpl.audit(original, released, config, control=control)
    power = {row.name: row.power[1].power for row in found.attackers}
    assert power["words"] >= 0.7
    without = {"columns": {"code": columns["code"]}, "attacker": "default", "canaries": False, "sensitivity": False}
    found = cvpl.audit(original[["code"]], released[["code"]], without, control=control[["code"]])
    assert "words" not in {row.name for row in found.attackers}
