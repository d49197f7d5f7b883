"""The header of a CSV file, read by the same rules as its records.

A quote opens a field at its start, after at most one blank; inside, two quotes mean one. Blanks behind a closing quote
are no part of the field. The csv module of Python has no such rules: it strips blanks from every field or from none.
"""

from __future__ import annotations

import re


def header_of(text: str, delimiter: str) -> list[str] | None:
    """The fields of the first record; none if the first line is empty, and None if the text is.

    Raises ValueError if a quote is not closed, has text behind it, or more than one blank before it.
    """
    if not text:
        return None
    if text[0] in "\r\n":
        return []
    sign = re.escape(delimiter)
    quoted = re.compile(rf' ?"((?:[^"]++|"")*+)" *(?=[{sign}\r\n]|\Z)')
    plain = re.compile(rf"[^{sign}\r\n]*+")
    fields, at = list[str](), 0
    while True:
        if (match := quoted.match(text, at)) is not None:
            fields.append(match[1].replace('""', '"'))
            at = match.end()
        else:
            end = at if (match := plain.match(text, at)) is None else match.end()
            fields.append(text[at:end])
            at = end
            if fields[-1].lstrip(" ").startswith('"'):
                raise ValueError("a quote is not closed, or has text behind it")
        if text[at : at + 1] != delimiter:
            return fields
        at += 1
