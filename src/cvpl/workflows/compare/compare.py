"""The comparison of several releases of one original, or of mechanisms over draws: risk, utility and ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cvpl import result as out
from cvpl.assessment.audit_result import provenance
from cvpl.assessment.ensemble import run_attackers
from cvpl.assessment.planning.progress import (
    Phase,
    ProgressCallback,
    RisingProgress,
    WholeProgress,
    ignore_progress,
    parts,
    prefix_progress,
)
from cvpl.assessment.planning.work import Work
from cvpl.config.loading import ConfigLike
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import UsageError
from cvpl.estimates import FALSE_RATE
from cvpl.files import private_folder
from cvpl.search.machine import one_blas_thread
from cvpl.workflows.compare.mechanisms import MechanismRun, measure_mechanism, named_mechanisms
from cvpl.workflows.compare.one_release import (
    AttackedRelease,
    NamedRelease,
    check_releases,
    control_likeness,
    measure_release,
    name_releases,
    publish_figures,
    resolve,
)
from cvpl.workflows.compare.ranking import ReleaseFigures, rank
from cvpl.workflows.draws.mechanism import FAILED

DRAWS = 5


def compare(
    original: object,
    releases: Sequence[object] | Mapping[str, object],
    config: ConfigLike,
    *,
    control: object | None = None,
    mechanisms: Mapping[str, object] | None = None,
    draws: int = DRAWS,
    timeout: float | None = None,
    folder: str | Path | None = None,
    attackers: Sequence[str] | None = None,
    memory: int | None = None,
    progress: ProgressCallback | None = None,
) -> out.ComparisonResult:
    """Compare several releases of `original`: risk, utility, ranking and efficient frontier.

    Each release is attacked as in `cvpl.audit`, and the strongest attacker gives its risk, the figure of the audit's
    verdict. Differences between two releases are paired by person; two releases whose difference may be 0 are tied.
    `releases` are tables as in `cvpl.audit`, or a mapping from names to tables. They are read twice, so a table that
    can be read only once does not work. The other arguments are those of `cvpl.audit`. Policies in the configuration
    are applied to each release, except those on subgroups, which a comparison does not measure, and over draws those on
    k, the singled-out rate and the inference rate, which belong to one release. Raises InputError with the problems of
    all releases. `progress` is called with what is being done and the share of the whole comparison that is done; each
    release is an equal part. The same inputs and seed give the same result.

    `mechanisms` are compared over draws: a mapping from names to commands with `{input}`, `{output}` and, if it takes
    one, `{seed}`; to functions from the path of a table to a release, as in `cvpl.trial`; or to built-in mechanisms
    with their strength, such as "mondrian 10". Each makes `draws` releases of all originals, each with its own seed.
    Its risk is the mean over draws, by the attacker that is strongest on average, with an interval over people and
    draws. `releases` may be empty; each counts as one draw, and its spread over draws is unknown. Mechanisms need a
    control. A command may take `timeout` seconds for a release. Raises UsageError if a mechanism fails in a draw,
    LimitError if it takes too long; what a failing command printed is kept in `folder`.
    """
    whole = RisingProgress(progress or ignore_progress)
    whole(Phase.READING, None)
    given = name_releases(releases)
    output = None if folder is None else Path(folder) / FAILED
    mechanisms_of = named_mechanisms(mechanisms, given, config, timeout, draws, output)
    if not given and not mechanisms_of:
        raise UsageError("there is no release to compare; name at least one, or two to compare them, or mechanisms")
    resolved = resolve(original, given, config, control, memory, attackers)
    if mechanisms_of and control is None and resolved.control is None:
        raise UsageError("mechanisms are compared by their power over draws, which needs a control. Pass one.")
    found: list[ReleaseFigures] = []
    with one_blas_thread(), private_folder() as work:
        runs = []
        for number, mechanism in enumerate(mechanisms_of):
            whole(f"{mechanism.name}: making the release", None)
            run = MechanismRun(mechanism, original, control, resolved, draws, work / f"{number + 1}")
            runs.append((run, run.make(0)))
        inputs = check_releases(original, [*given, *(first for _, first in runs)], resolved, control)
        sizes = [1.0] * len(given) + [float(draws)] * len(runs)
        tells = parts(whole, sizes)
        for one, part in zip(given, tells, strict=False):
            its_progress = WholeProgress(prefix_progress(part, one.name) if len(sizes) > 1 else part)
            found.append(_measure(one, resolved, original, control, its_progress, shown=progress is not None))
        for (run, first), part in zip(runs, tells[len(given) :], strict=True):
            found.append(measure_mechanism(run, first, prefix_progress(part, run.mechanism.name)))
    order = rank(found)
    return out.ComparisonResult(
        schema="cvpl/compare/1",
        inputs=inputs,
        false_rate=FALSE_RATE,
        releases=order.releases,
        differences=order.differences,
        frontier=order.frontier,
        utility_figures=order.utility_figures,
        provenance=provenance(resolved),
        suppress_below=min(item.disclosure.k for item in found),
    )


def _measure(
    one: NamedRelease,
    resolved: ResolvedConfig,
    original: object,
    control: object | None,
    progress: WholeProgress,
    *,
    shown: bool,
) -> ReleaseFigures:
    """Read, attack and measure one release; its tables are freed afterwards. `shown` says that progress is shown."""
    progress(Phase.READING, None)
    inputs = one.read(original, resolved, control)
    if shown:
        progress.expect(Work(resolved, inputs).compared())
    ensemble = run_attackers(resolved, inputs, progress)
    attacked = AttackedRelease(one, resolved, inputs, ensemble, control_likeness(resolved, inputs))
    found = publish_figures(measure_release(attacked, progress))
    progress.finish()
    return found
