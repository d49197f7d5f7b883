"""The mechanisms of a comparison: commands, functions or built-in ones, each drawn several times."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cvpl.config.loading import ConfigLike
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import UsageError
from cvpl.wording import stopped
from cvpl.workflows.compare.inputs import NamedRelease
from cvpl.workflows.draws.command import is_command
from cvpl.workflows.draws.making import (
    Draw,
    ReleaseNotMade,
    copied_table,
    keeping_output,
    mechanism_seed,
    where_output_is,
)
from cvpl.workflows.draws.mechanism import MechanismRunner, find_mechanism
from cvpl.workflows.made_tables import FAMILIES, Strength

FEWEST_DRAWS, MOST_DRAWS = 2, 1000


@dataclass(frozen=True, eq=False)
class NamedMechanism:
    """A mechanism and its name. Each draw is made from a copy of the original, with a seed of its own.

    What a failing command prints is kept in a folder in `output`, which only this user can enter.
    """

    name: str
    mechanism: MechanismRunner
    output: Path | None = None

    def draw(self, number: int, original: object, resolved: ResolvedConfig, folder: Path) -> NamedRelease:
        """The release of a draw, counted from 0, made in a new folder in `folder`.

        The seed follows from the configuration's, the mechanism's name and the draw, so that other mechanisms change
        nothing. Raises UsageError if there is no release, and LimitError if the command took too long.
        """
        place = folder / f"{number + 1}"
        table = copied_table(original, resolved.reading, place / "in")
        kept = None if self.output is None else self.output / f"{self.name}_draw_{number + 1:02d}"
        seed = mechanism_seed(resolved.config.seed, f"compare {self.name} {number}")
        try:
            with keeping_output(place, kept):
                made = self.mechanism.make(Draw(table, place, seed, threading.Event()))
        except ReleaseNotMade as failed:
            text = f"mechanism '{self.name}', draw {number + 1}: {stopped(str(failed))}"
            if self.mechanism.kind == "command":
                text += where_output_is(kept, "folder")
            raise failed.error(text) from failed
        if isinstance(made, str | Path) and Path(made).is_file() and not Path(made).is_relative_to(place):
            # A function may write every release to the same file.
            made = Path(shutil.copyfile(made, place / Path(made).name))
        shutil.rmtree(place / "in")
        return NamedRelease(self.name, made, self.mechanism.identity)


def named_mechanisms(
    mechanisms: Mapping[str, object] | None,
    releases: Sequence[NamedRelease],
    config: ConfigLike,
    timeout: float | None,
    draws: int,
    output: Path | None,
) -> list[NamedMechanism]:
    """The mechanisms that a caller names. Raises UsageError if one is none, or has the name of another release.

    A mechanism is a command, a function, or a built-in one with its strength, such as "mondrian 10".
    """
    if not mechanisms:
        return []
    if not isinstance(mechanisms, Mapping):
        raise UsageError("mechanisms: give a mapping from names to commands or functions, such as {'noise': command}.")
    if not FEWEST_DRAWS <= draws <= MOST_DRAWS:
        raise UsageError(f"draws is {draws}; allowed is a whole number from {FEWEST_DRAWS} to {MOST_DRAWS:,}.")
    taken = {release.name for release in releases}
    found = []
    for name, mechanism in mechanisms.items():
        if not isinstance(name, str) or not name.strip() or "/" in name:
            raise UsageError("mechanisms: each needs a name without a slash, such as noise.")
        if name in taken:
            raise UsageError(f"mechanisms: a release has the name '{name}' too. Choose another name.")
        text, strength = _with_strength(mechanism)
        found.append(NamedMechanism(name, find_mechanism(text, strength, config, timeout), output))
    return found


def _with_strength(mechanism: object) -> tuple[object, Strength | None]:
    """A built-in mechanism and its strength, which follows the name; everything else as it is."""
    if not isinstance(mechanism, str) or is_command(mechanism):
        return mechanism, None
    first, _, rest = mechanism.strip().partition(" ")
    method = first.replace("_", "-")
    if method not in FAMILIES or not rest.strip():
        return mechanism, None
    value = rest.strip()
    try:
        number = float(value)
    except ValueError:
        return method, value
    return method, int(number) if number == int(number) and "." not in value else number
