"""Direct identifiers that were left in the release."""

from __future__ import annotations

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs
from cvpl.wording import share_words

_LOOKS_LIKE = {
    "name": "names of people",
    "email": "e-mail addresses",
    "phone": "phone numbers",
    "address": "postal addresses",
    "national_id": "national ids",
    "card_number": "card or account numbers",
    "free_text": "free text",
}


def identifier_findings(resolved: ResolvedConfig, inputs: Inputs, disclosure: Disclosure) -> list[out.Finding]:
    """A finding for each released column with direct identifiers, and one for the key that the evaluation uses."""
    used = (
        resolved.identity is not None
        and inputs.evaluation.matches is not None
        and len(inputs.evaluation.matches.original) > 0
    )
    key = resolved.identity.protected if resolved.identity is not None and used else None
    found = []
    if key is not None and key in inputs.whole.present.get("protected", ()):
        message = f"column '{key}' identifies people and is used for evaluation; remove it before release"
        found.append(out.Finding(check="evaluation_key", closes_gate=False, message=message, column=key))
    for column in inputs.whole.identifying:
        if column.column == key:
            continue
        share = disclosure.share(column.share, "tables")
        told = share_words(share, k=disclosure.k, of="")
        if column.kind == "unique_values":
            # Attackers are assumed not to know a sensitive column, but anyone who knows a value needs no attack.
            known = (
                ": anyone who knows a person's value finds that person's record"
                if _role(resolved, column.column) == "sensitive"
                else ""
            )
            message = (
                f"column '{column.column}': nearly every value is unique, and {told} of them are in "
                f"the original{known}; remove or coarsen it before release"
            )
        else:
            looks = _LOOKS_LIKE[column.kind]
            message = f"column '{column.column}' looks like {looks} ({told} of its values); remove it before release"
        found.append(
            out.Finding(
                check=f"identifier_{column.kind}",
                closes_gate=True,
                message=message,
                column=column.column,
                share=share,
            )
        )
    return found


def _role(resolved: ResolvedConfig, column: str) -> str | None:
    declared = resolved.config.columns.get(column)
    return None if declared is None else declared.role
