"""`cvpl trial`: a mechanism run several times, each time on half of the people."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cvpl.cli.audit import CONFIG
from cvpl.cli.output import check_file, check_folder, page, reader_may_leave, say, tell
from cvpl.cli.summary import show_assumptions
from cvpl.cli.values import ORIGINAL_HELP, OVERWRITE, memory_bytes
from cvpl.errors import UsageError
from cvpl.files import check_outputs

if TYPE_CHECKING:
    from cvpl.workflows.proposal import Proposal

FILES = ("trial.json", "trial.html")

EXIT_CODES = (
    "Exit codes: 0 done; 2 invalid call, the output cannot be written, or the mechanism failed; 3 a table or the "
    "configuration cannot be used; 4 a limit was hit, such as --timeout; 5 interrupted; 6 internal error."
)


class OnFailure(StrEnum):
    """What to do if a round fails."""

    stop = "stop"
    go_on = "continue"


def command(
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
        written += [out / name for name in (*FILES, *([CONFIG] if config is None else []))]
    if per_person is not None:
        check_file(per_person, "--per-person")
        written.append(per_person)
    check_outputs(written, [original, *([] if config is None else named_files(config))], overwrite=overwrite)

    from cvpl.cli.progress import Progress  # noqa: PLC0415
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
        path, page_at, *_ = write_result(result, out, FILES[1], more=texts)
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
