"""The commands that run a mechanism several times: `cvpl surface` and `cvpl trial`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cvpl.cli.audit import CONFIG
from cvpl.cli.terminal import (
    DETAILS,
    ORIGINAL_HELP,
    OVERWRITE,
    Progress,
    check_file,
    check_folder,
    finite_rate,
    memory_bytes,
    page,
    reader_may_leave,
    say,
    show_assumptions,
    tell,
)
from cvpl.errors import UsageError
from cvpl.files import check_outputs

if TYPE_CHECKING:
    from cvpl.workflows.proposal import Proposal


SURFACE_FILES = ("surface.json", "surface.html")


def surface_command(
    original: Path = typer.Argument(metavar="ORIGINAL", help=ORIGINAL_HELP, show_default=False),
    config: Path = typer.Option(
        ..., "--config", "-c", metavar="FILE", help="The audit.yaml; `cvpl init` writes a first one."
    ),
    mechanism: str | None = typer.Option(
        None,
        "--mechanism",
        "-m",
        metavar="NAME",
        help="What makes the releases: k-anonymity, mondrian, perturbation or synthetic, as in `cvpl protect`. Or a "
        "command with {input}, {output}, {strength} and, if it takes one, {seed}, such as 'python synthesize.py "
        "{input} {output} {seed} {strength}'; it runs without a shell.",
    ),
    strengths: str | None = typer.Option(
        None,
        "--strengths",
        "-s",
        metavar="VALUES",
        help="The strengths to try, such as 2,5,10; separate by commas. Those of a command go from the weakest "
        "protection to the strongest. Without it, all of the paper's.",
    ),
    draws: int = typer.Option(
        1,
        metavar="NUMBER",
        min=1,
        help="Releases at each strength, each with its own seed; the one with the largest risk counts.",
    ),
    timeout: float | None = typer.Option(
        None, metavar="SECONDS", help="The longest that a command may take for a release."
    ),
    blocking: bool = typer.Option(
        False, "--blocking", help="Instead of a mechanism: sweep the granularity of the blocking on --release."
    ),
    release: Path | None = typer.Option(None, metavar="FILE", help="The release to attack, for --blocking."),
    control: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="People like the originals who are known to be absent from the releases. They give the base rate of "
        "look-alikes.",
    ),
    attacker: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Run the sweep with this one of the configuration's attackers. Without it, the strongest on the weakest "
        "release.",
    ),
    target: float | None = typer.Option(
        None,
        metavar="RATE",
        min=0.0,
        max=1.0,
        callback=finite_rate,
        help="Find the weakest setting whose risk is at or below RATE, such as 0.05, by its upper interval end.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for surface.json and surface.html; created if needed. Without it nothing is written.",
    ),
    memory: str | None = typer.Option(None, metavar="SIZE", help="The memory limit, such as 4GB."),
    overwrite: bool = OVERWRITE,
    details: bool = DETAILS,
    as_json: bool = typer.Option(False, "--json", help="Print the content of surface.json instead of the summary."),
) -> None:
    """Sweep the strength of a mechanism: how the risk falls with stronger protection, at every threshold.

    Each release is made and attacked once. With --target, find the weakest setting from which it and every stronger one
    that was tried are at or below the target.
    """
    if blocking == (mechanism is not None):
        raise UsageError("nothing to sweep: pass either --mechanism NAME, or --blocking with --release FILE.")
    if blocking and (release is None or strengths is not None):
        raise UsageError("--blocking needs --release FILE, and takes no --strengths: it varies the declared keys.")
    if not blocking and release is not None:
        raise UsageError("--release is for --blocking: a mechanism makes its releases from ORIGINAL. Remove it.")
    allowed = memory_bytes(memory)
    if out is not None:
        from cvpl.config.loading import named_files  # noqa: PLC0415 - only if a file is written

        check_folder(out, "--out")
        read = [original, release, control, *named_files(config)]
        check_outputs([out / name for name in SURFACE_FILES], read, overwrite=overwrite)

    from cvpl.workflows.draws.mechanism import FAILED  # noqa: PLC0415
    from cvpl.workflows.surface.surface import BLOCKING, surface  # noqa: PLC0415

    listed = None if strengths is None else [item.strip() for item in strengths.split(",") if item.strip()]
    with Progress() as progress:
        result = surface(
            original,
            mechanism or BLOCKING,
            listed,
            config,
            control=control,
            target=target,
            draws=draws,
            attacker=attacker,
            release=release,
            timeout=timeout,
            folder=out,
            memory=allowed,
            progress=progress,
        )
    path = page_at = None
    if out is not None:
        from cvpl.reports.files import write_result  # noqa: PLC0415 - only if a file is written

        path, page_at = write_result(result, out, SURFACE_FILES[1])
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        from cvpl.reports.terminal import LINES, show  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

        show(result, page(), details=details, most=LINES if path is None else LINES - 3)
        if path is not None:
            say(f"\nWritten: {path}, and the page to share: {page_at}")
        if out is not None and result.failed and (out / FAILED).is_dir():
            tell(f"What failed commands printed is in {out / FAILED}. It may contain cells of the table.")


TRIAL_FILES = ("trial.json", "trial.html")

TRIAL_EXIT_CODES = (
    "Exit codes: 0 done; 2 invalid call, the output cannot be written, or the mechanism failed; 3 a table or the "
    "configuration cannot be used; 4 a limit was hit, such as --timeout; 5 interrupted; 6 internal error."
)


class OnFailure(StrEnum):
    """What to do if a round fails."""

    stop = "stop"
    go_on = "continue"


def trial_command(
    original: Path = typer.Argument(metavar="ORIGINAL", help=ORIGINAL_HELP, show_default=False),
    mechanism: str = typer.Option(
        ...,
        "--mechanism",
        "-m",
        metavar="COMMAND",
        help="What makes a release: a command with {input}, {output} and, if it takes one, {seed}, such as 'python "
        "synthesize.py {input} {output} {seed}'; it runs without a shell. Or a mechanism of `cvpl protect` by name.",
    ),
    strength: str | None = typer.Option(
        None,
        "--strength",
        "-s",
        metavar="VALUE",
        help="The strength of a mechanism of `cvpl protect`, such as 10; it also replaces {strength} in a command.",
    ),
    rounds: int = typer.Option(8, metavar="NUMBER", min=2, help="How often the mechanism is run."),
    config: Path | None = typer.Option(
        None,
        "--config",
        "-c",
        metavar="FILE",
        help="The audit.yaml. Without it, roles and types are guessed from one more release, and shown.",
    ),
    epsilon: float | None = typer.Option(
        None,
        metavar="NUMBER",
        help="The privacy budget that the mechanism states. The result has a lower bound on epsilon beside it, and an "
        "alarm if the budget is not kept.",
    ),
    delta: float = typer.Option(0.0, metavar="NUMBER", help="The delta of the budget."),
    noise_multiplier: float | None = typer.Option(
        None,
        metavar="NUMBER",
        help="Instead of epsilon: the noise of a Gaussian mechanism over its sensitivity. Needs the extra "
        "cvpl\\[budget].",
    ),
    noise_steps: int = typer.Option(1, metavar="NUMBER", min=1, help="How often that noise is added."),
    sampling: float = typer.Option(1.0, metavar="RATE", help="The share of people that each of these steps samples."),
    bound: bool = typer.Option(False, "--bound", help="A lower bound on epsilon without a stated budget."),
    plant: int = typer.Option(
        0, metavar="NUMBER", min=0, help="Add so many made-up people with unusual values, and show how they fare."
    ),
    attackers: str | None = typer.Option(
        None,
        metavar="NAMES",
        help="Run only these of the configuration's attackers, such as paper,rarity_reference; separate by commas.",
    ),
    jobs: int = typer.Option(1, metavar="NUMBER", min=1, help="Rounds that run at the same time."),
    timeout: float | None = typer.Option(
        None, metavar="SECONDS", help="The longest that a command may take in a round."
    ),
    on_failure: OnFailure = typer.Option(
        OnFailure.stop,
        "--on-failure",
        help="stop: a round that fails ends the trial. continue: it is reported and left out.",
    ),
    seed: int | None = typer.Option(None, min=0, metavar="NUMBER", help="Replaces the configuration's seed."),
    out: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for trial.json and trial.html; created if needed. Finished rounds are kept there until the trial "
        "ends, so that an interrupted trial resumes. Without it nothing is written.",
    ),
    keep_rounds: bool = typer.Option(
        False, "--keep-rounds", help="Keep the scores of the rounds in --out. They are scores of single people."
    ),
    per_person: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="Rank the rows by how exposed they are, from their rounds and their rarity, with how often each was "
        "linked: a CSV file that only you can read. It tells of single people.",
    ),
    memory: str | None = typer.Option(None, metavar="SIZE", help="The memory limit, such as 4GB."),
    overwrite: bool = OVERWRITE,
    as_json: bool = typer.Option(False, "--json", help="Print the content of trial.json instead of the summary."),
) -> None:
    """Run a mechanism several times on random halves of the people, and attack each release.

    Those who are not in a release are its control, so none has to be set aside. The result has the risk with an
    interval over people and draws, the spread between draws, and for a stated budget a lower bound on epsilon.
    """
    allowed = memory_bytes(memory)
    if keep_rounds and out is None:
        raise UsageError("--keep-rounds needs a folder to keep them in: pass --out DIR.")
    from cvpl.config.loading import named_files  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    written = []
    if out is not None:
        check_folder(out, "--out")
        written += [out / name for name in (*TRIAL_FILES, *([CONFIG] if config is None else []))]
    if per_person is not None:
        check_file(per_person, "--per-person")
        written.append(per_person)
    check_outputs(written, [original, *([] if config is None else named_files(config))], overwrite=overwrite)

    from cvpl.workflows.trial.kept_rounds import remove_rounds  # noqa: PLC0415
    from cvpl.workflows.trial.trial import trial  # noqa: PLC0415

    guessed: list[Proposal] = []

    def guess(found: Proposal) -> None:
        guessed.append(found)
        if not as_json:
            show_assumptions(found, details=True)

    with Progress() as progress:
        result = trial(
            original,
            mechanism,
            config,
            rounds=rounds,
            strength=strength,
            epsilon=epsilon,
            delta=delta,
            noise_multiplier=noise_multiplier,
            noise_steps=noise_steps,
            sampling=sampling,
            bound=bound,
            plant=plant,
            jobs=jobs,
            timeout=timeout,
            on_failure=on_failure.value,
            attackers=None if attackers is None else [name.strip() for name in attackers.split(",")],
            seed=seed,
            memory=allowed,
            out=out,
            keep_rounds=True,
            per_person=per_person,
            progress=progress,
            on_guess=guess,
        )
    path = page_at = None
    if out is not None:
        from cvpl.reports.files import write_result  # noqa: PLC0415 - only if a file is written

        texts = {CONFIG: guessed[0].text} if guessed else None
        path, page_at, *_ = write_result(result, out, TRIAL_FILES[1], more=texts)
        if not keep_rounds:
            remove_rounds(out)
    with reader_may_leave():
        if as_json:
            # Bytes, so that the terminal's encoding and line ends do not change them.
            typer.echo(result.to_json().encode(), nl=False)
            return
        from cvpl.reports.terminal import show  # noqa: PLC0415

        show(result, page())
        if out is not None:
            say(f"\nWritten: {path}, and the page to share: {page_at}")
            if guessed:
                say(f"Check the guesses in {out / CONFIG}, and run the trial again with it as --config.")
        if per_person is not None:
            tell(f"{per_person} tells of single people: only you can read it. Delete it when you are done.")
