"""National ids and bank numbers, recognized by their format and their check digits.

A format that other columns have too, such as nine plain digits, counts only if the check digits fit or the column's
name says what the number is.
"""

from __future__ import annotations

import re

_SSN = re.compile(r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}")
_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]")
_NIR = re.compile(r"([1-2][0-9]{2}(?:0[1-9]|1[0-2]|[2-4][0-9]|[5-9][0-9])(?:[0-9]{2}|2[AB])[0-9]{6})([0-9]{2})?")
_NIR_SPACED = re.compile(r"[12] [0-9]{2} [0-9]{2} [0-9][0-9AB] [0-9]{3} [0-9]{3}( ?/? ?[0-9]{2})?")
_DNI = re.compile(r"([0-9]{8}|[XYZ][- ]?[0-9]{7})[- ]?([A-Z])")
_CODICE_FISCALE = re.compile(r"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]")
_INSURANCE_DE = re.compile(r"[0-9]{2}(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])[0-9]{2}[A-Z][0-9]{3}")
_SWEDISH = re.compile(r"(?:19|20)?([0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))[-+]([0-9]{4})")
_FINNISH = re.compile(r"((?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])[0-9]{2})[-+A-FU-Y]([0-9]{3})([0-9A-Y])")
_PESEL = re.compile(r"[0-9]{2}(?:[02468][1-9]|[13579][0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{5}")
_SWISS = re.compile(r"756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}")
_BELGIAN = re.compile(r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}")
_BRAZILIAN = re.compile(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_CARD = re.compile(r"[2-6][0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}|3[0-9]{3}([ -]?)[0-9]{6}\2[0-9]{5}")
_SOME_ID = re.compile(r"(?=(?:[^0-9]*[0-9]){6})[A-Za-z0-9][A-Za-z0-9 ./-]{5,24}")

_SHORTEST = 9
"""The number of characters of the shortest national id."""
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_FINNISH_LETTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"


def is_card_number(text: str) -> bool:
    """Whether the text is 13 to 19 digits in a card's groups, with a valid Luhn check digit."""
    return _CARD.fullmatch(text) is not None and _luhn(_digits(text))


def is_national_id(text: str) -> bool:
    """Whether the text is a personal number in a format of its own, or with check characters that few others fit."""
    upper = text.upper()
    if len(upper) < _SHORTEST:
        return False
    return (
        any(form.fullmatch(upper) for form in (_SSN, _NINO, _CODICE_FISCALE, _INSURANCE_DE, _NIR_SPACED))
        or any(form.fullmatch(text) for form in (_SWISS, _BELGIAN, _BRAZILIAN))
        or _is_nir(upper)
        or _is_dni(upper)
        or _is_nordic(upper)
        or _is_iban(upper)
    )


def is_checked_number(text: str) -> bool:
    """Whether the text is plain digits that pass the check of a German tax number, a Dutch BSN or a Polish PESEL.

    One number in ten passes by chance, so nearly all values of a column must pass.
    """
    plain = text.replace(" ", "")
    if not (plain.isascii() and plain.isdecimal()) or not re.fullmatch(r"[0-9]+(?: [0-9]{2,3}){0,3}", text):
        return False
    return _is_bsn(plain) or _is_tax_number(plain) or _is_pesel(plain)


def could_be_id(text: str) -> bool:
    """Whether the text has six or more digits, letters and separators allowed: an id if the column's name says so."""
    return _SOME_ID.fullmatch(text) is not None


def _digits(text: str) -> list[int]:
    return [int(letter) for letter in text if letter.isdecimal()]


def _luhn(digits: list[int]) -> bool:
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_nir(text: str) -> bool:
    """Whether the text is a French number with its key; the thirteen digits alone look like a time in milliseconds."""
    found = _NIR.fullmatch(re.sub(r"[ /]", "", text))
    if found is None or found[2] is None:
        return False
    number = int(found[1].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(found[2])


def _is_dni(text: str) -> bool:
    found = _DNI.fullmatch(text)
    if found is None:
        return False
    number = int(re.sub(r"[- ]", "", found[1]).translate(str.maketrans("XYZ", "012")))
    return _DNI_LETTERS[number % 23] == found[2]


def _is_nordic(text: str) -> bool:
    """Whether the text is a Swedish or a Finnish number; some have the form of both, since the day may be a year."""
    swedish, finnish = _SWEDISH.fullmatch(text), _FINNISH.fullmatch(text)
    return (swedish is not None and _luhn(_digits(swedish[1] + swedish[2]))) or (
        finnish is not None and _FINNISH_LETTERS[int(finnish[1] + finnish[2]) % 31] == finnish[3]
    )


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "")
    if not plain.isascii() or _IBAN.fullmatch(plain) is None:
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def _is_bsn(plain: str) -> bool:
    digits = [int(digit) for digit in plain]
    weights = (9, 8, 7, 6, 5, 4, 3, 2, -1)
    return len(digits) == 9 and sum(w * d for w, d in zip(weights, digits, strict=True)) % 11 == 0


def _is_tax_number(plain: str) -> bool:
    """Whether the text is a German tax number: eleven digits, the last of them by ISO 7064 (11, 10)."""
    if len(plain) != 11 or plain[0] == "0":
        return False
    product = 10
    for digit in plain[:10]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(plain[10])


def _is_pesel(plain: str) -> bool:
    if _PESEL.fullmatch(plain) is None:
        return False
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    return sum(w * int(d) for w, d in zip(weights, plain, strict=True)) % 10 == 0
