"""Results with given figures behind their verdict, for tests of what is shown of them."""

from __future__ import annotations

import json
from pathlib import Path

import cvpl
from cvpl.result import BestCandidate, Risk, VerdictFigures, verdict_of

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "result-0.1.json").read_text(encoding="utf-8"))


def risk(estimate, low, high, **more):
    power = 0.05 + 0.95 * estimate
    known = {"power": power, "false_rate": 0.05, "basis": "control", "attacker": "main"}
    return Risk(estimate=estimate, low=low, high=high, **known | more)


BEST = BestCandidate(estimate=0.42, low=0.4, high=0.45, attacker="main")
HIGH = {"risk": risk(0.3, 0.2, 0.4)}
ZERO = {"risk": risk(0.01, -0.01, 0.03)}
DEAD = {"reasons": ["every row is the same"], "risk": risk(0.3, 0.2, 0.4)}
NO_CONTROL = {"best_candidate": BEST}


def audited(figures, **changes):
    """A stored result with these figures behind its verdict, and whatever else is changed."""
    found = VerdictFigures(**figures)
    parts = {"risk": found.risk, "certain": found.certain, "best_candidate": found.best_candidate}
    content = json.loads(cvpl.AuditResult.model_validate(STORED).to_json()) | {"warnings": [], "policies": []}
    content |= {name: None if part is None else part.model_dump() for name, part in parts.items()}
    content["verdict"] = verdict_of(found).model_dump()
    return cvpl.AuditResult.model_validate(content | {"policy": None} | changes)


def policy(met=True, largest=0.05, value=0.03, figure="risk", reasons=()):
    return {"figure": figure, "bound": "high", "max": largest, "value": value, "met": met, "reasons": list(reasons)}


def finding(column="income", *, closes=True):
    return {"check": "direct_identifier", "closes_gate": closes, "message": f"column '{column}' names people"}


def contribution(column, drop, low, high):
    shares = {"structural": None, "structural_low": None, "structural_high": None, "link": None, "removal": None}
    ends = {"power_drop": drop, "power_drop_low": low, "power_drop_high": high}
    return {"column": column, "role": "attribute", **shares, **ends}


def contributed(*columns):
    return {"columns": list(columns), "removal_asked": None, "power_asked": 400}
