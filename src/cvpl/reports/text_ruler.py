"""The risk ruler in characters: an axis from 0% to 100% with this release, and the marks below it."""

from __future__ import annotations

from cvpl.answers.ruler import MarkKind, Ruler

SIGNS: dict[MarkKind, str] = {"chance": "c", "nobody": "n", "limit": "L", "release": "X", "originals": "o"}
"""The sign of each mark."""
_INTERVAL, _AXIS = "=", "-"
_LEAST = 30


def ruler_lines(ruler: Ruler, width: int) -> tuple[tuple[str, ...], str]:
    """The labels, the axis and the marks below it, each as wide as `width`, and a key of the signs.

    A share s is at round(s (width - 1)). The interval of this release is drawn as `=`. Marks at the same place move
    right or, at the end of the axis, left; the key has their values. Chance alone needs no line of marks, and no sign.
    """
    wide = max(_LEAST, width)
    release = ruler.release
    axis = [_AXIS] * wide
    if release.low is not None and release.high is not None:
        for at in range(_cell(release.low, wide), _cell(release.high, wide) + 1):
            axis[at] = _INTERVAL
    axis[_cell(release.at, wide)] = SIGNS["release"]
    below = [" "] * wide
    for mark in ruler.marks:
        if mark is not release:
            below[_free(below, _cell(mark.at, wide))] = SIGNS[mark.kind]
    ordered = sorted(ruler.marks, key=lambda mark: mark is not release)
    marks = "".join(below).rstrip()
    alone = marks.strip() == SIGNS["chance"]
    shown = [f"{mark.name} {mark.value}" for mark in ordered]
    signs = ["" if alone and mark is not release else f"{SIGNS[mark.kind]} " for mark in ordered]
    key = "; ".join(f"{sign}{text}" for sign, text in zip(signs, shown, strict=True))
    return (_labels(wide), "".join(axis), *(() if alone else (marks,))), f"{key}."


def _cell(share: float, wide: int) -> int:
    return round(min(1.0, max(0.0, share)) * (wide - 1))


def _free(below: list[str], at: int) -> int:
    """The nearest free cell, to the right first."""
    return min((cell for cell, sign in enumerate(below) if sign == " "), key=lambda cell: (abs(cell - at), -cell))


def _labels(wide: int) -> str:
    """The labels of the axis, each at its place."""
    line = [" "] * wide
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        text = f"{share:.0%}"
        start = min(max(0, _cell(share, wide) - len(text) // 2), wide - len(text))
        line[start : start + len(text)] = text
    return "".join(line).rstrip()
