"""Tests whether one value is an e-mail address, a phone number, a postal address or a sentence."""

from __future__ import annotations

import re

from cvpl.tables.identifiers.words import SMALL_WORDS, folded

_MAIL = r"[^\s@\"<>,;:()\[\]*]+@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}"
_EMAIL = re.compile(rf"(?:mailto:)?{_MAIL}|[^@<>]{{0,80}}<{_MAIL}>")

_EXTENSION = re.compile(r"\s*(?:x|ext\.?|dw)\s*[0-9]{1,5}$", re.IGNORECASE)
_DAY = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{4}(?![0-9]).*|[0-9]{4}([./-])[0-9]{1,2}\2[0-9]{1,2}(?![0-9]).*")
_PHONES = [
    re.compile(form)
    for form in (
        r"\+(?![0-9]+\.[0-9]*$)[1-9][0-9 ()./-]{7,24}",  # +49 (0)30 123456, +1-202-555-0143
        r"00[1-9][0-9]{0,2}[ ./-][0-9 ()./-]{6,22}",  # 0044 20 7946 0958
        r"(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}([ .-]))[2-9][0-9]{2}[ .-][0-9]{4}",  # (202) 555-0143
        r"0[1-9](?:([ .-])[0-9]{2})(?:\1[0-9]{2}){3}",  # 06 12 34 56 78
        r"\(?0[1-9][0-9]{1,4}\)?[ /-] ?[0-9]{3,4}[ -]?[0-9]{3,5}(?:-[0-9]{1,4})?",  # 020 7946 0958, 030/1234567
        r"\(?0[1-9][0-9]{1,4}\)? ?[ /-] ?[0-9]{2,3}(?: [0-9]{2,3}){1,4}",  # 0221 12 34 56
        r"06[ -][0-9]{8}",  # 06-12345678
        r"0[1-9] [0-9]{6,8}",  # 06 12345678, 02 1234567
        r"[6-9][0-9]{2}([ .-])[0-9]{3}\1[0-9]{3}|[6-9][0-9]{2} [0-9]{2} [0-9]{2} [0-9]{2}",  # 612 345 678
        r"3[0-9]{2}([ ./-])[0-9]{3}[ ]?[0-9]{3,4}",  # 347 123 4567
        r"0[67][0-9]{8}|07[0-9]{9}|01[567][0-9]{8,9}",  # mobile numbers in one piece
    )
]
_DIALLED = re.compile(r"\+?[0-9(][0-9 ()./-]{5,22}[0-9]")

_HOUSE = r"[0-9]{1,4}(?: ?[a-z])?(?:[-/][0-9]{1,3}[a-z]?)?"
_ADDRESSES = [
    re.compile(form)
    for form in (
        rf"{_HOUSE},? (?:[\w.'-]+ ){{1,4}}(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|ct|"
        r"place|pl|way|terrace|close|square|crescent|circle|cir|parkway|pkwy|highway|hwy|trail|gardens|grove|mews|"
        r"row)\b",
        r"(?!spring|string)[^\W\d_][\w .'-]*(?:strasse|str\.|str|weg|platz|gasse|allee|ring|damm|ufer|steig|chaussee|"
        r"pfad|straat|laan|plein|gracht|kade|dijk|singel|gatan|vagen|vej|gade|veien) ?[0-9]{1,3}(?![0-9])",
        rf"{_HOUSE}(?: ?(?:bis|ter))?,? (?:rue|avenue|av\.?|boulevard|bd\.?|chemin|place|allee|impasse|quai|route|"
        r"cours|square|passage|ruelle|faubourg|residence) \w",
        r"(?:(?:calle|avenida|avda\.?|av\.?|plaza|paseo|camino|carrer|ronda|travesia|carretera|glorieta|via|viale|"
        r"v\.le|piazza|corso|vicolo|largo|piazzale|strada|contrada|rua|travessa|praca|estrada|alameda|ulica|"
        r"ul\.|aleja) |c/ ?)"
        r"[\w .,'/ºª°-]*?\b[0-9]{1,4}\b",
        r"(?:am|im|an der|auf dem|auf der|zum|zur|in der|unter den) [\w -]+ [0-9]{1,3} ?[a-z]?\b",
    )
]
_DIGIT = re.compile(r"[0-9]")
_ROOM = re.compile(r"(?=.*[^\W\d_]{3})(?=.*[0-9])[^{}\[\]<>*=]{6,120}")

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def is_email(text: str) -> bool:
    """Whether the text is an e-mail address, alone or after its owner's name."""
    return "@" in text and len(text) < 320 and _EMAIL.fullmatch(text.strip()) is not None


def is_phone(text: str) -> bool:
    """Whether the text is a phone number in a format of its own: a plus sign, or the digit groups of a country."""
    if len(text) < 9:
        return False
    plain = _EXTENSION.sub("", text.strip())
    if not 9 <= sum(letter.isdecimal() for letter in plain) <= 15 or _DAY.fullmatch(plain):
        return False
    return any(form.fullmatch(plain) for form in _PHONES)


def could_be_dialled(text: str) -> bool:
    """Whether the text is 7 to 15 digits with phone separators: a phone number if the column's name says so."""
    plain = _EXTENSION.sub("", text.strip())
    digits = sum(letter.isdecimal() for letter in plain)
    return 7 <= digits <= 15 and _DIALLED.fullmatch(plain) is not None and not _DAY.fullmatch(plain)


def is_address(text: str) -> bool:
    """Whether the text is a street with a house number, in English, German, Dutch, French, Spanish, Italian, ..."""
    if text.isascii() and not _DIGIT.search(text):  # every form has a house number
        return False
    plain = " ".join(folded(text).split())
    return 6 <= len(plain) <= 120 and any(form.match(plain) for form in _ADDRESSES)


def could_be_address(text: str) -> bool:
    """Whether the text has a word and a number: an address if the column's name says so."""
    return _ROOM.fullmatch(text) is not None


def is_sentence(text: str, least: int = 5) -> bool:
    """Whether the text has at least `least` words, most of letters, and not all capitalized like names and titles.

    In scripts without spaces two characters count as a word; a set such as {a, b} is not a sentence.
    """
    signs = len(_CJK.findall(text))
    if signs >= 2 * least:
        return True
    parts = text.split()
    if len(parts) < least or len(text) < 5 * least or text.lstrip()[0] in "{[(<":
        return False
    words = [word for part in parts if (word := part.strip(".,;:!?()\"'«»„“”…-")) and word[0].isalpha()]
    if len(words) < 0.6 * len(parts):
        return False
    if text.isupper():
        return any(folded(word) in SMALL_WORDS for word in words)
    return sum(not word[0].isupper() for word in words) >= 0.4 * len(words)
