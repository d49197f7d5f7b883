"""Whether a text is a direct identifier: an address, a number with check digits, a person's name, a sentence.

National ids and bank numbers, recognized by their format and their check digits. A format that other columns have too,
such as nine plain digits, counts only if the check digits fit or the column's name says what the number is.

Words that indicate a direct identifier: in column names, among given names and surnames, in sentences. All lists are
folded: lower case, without accents, "ß" as "ss". They are short on purpose. A column is judged by many values, so a
list needs common names only, and none that is also a city, a month or an occupation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

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
    plain = " ".join(fold_text(text).split())
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
        return any(fold_text(word) in SMALL_WORDS for word in words)
    return sum(not word[0].isupper() for word in words) >= 0.4 * len(words)


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


_PART = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*\.?")

_LEAST = 10
"""Fewer distinct values are labels, not names."""
_SHAPED = 0.7
_KNOWN, _GIVEN = 0.12, 0.05
_ONE_WORD = 0.4
_SURNAMES_ONLY = 0.25
_DIFFERENT = 0.5
_SOME_KNOWN = 0.05


def person(text: str) -> tuple[str, ...] | None:
    """Return the folded words of a text shaped like a name (given name, surname or both); None for any other text.

    A name is one to five words of letters, capitalized or all in one case, without titles and particles. A word common
    in places, firms or occupations rules it out. "Last, First" is reordered.
    """
    if len(text) > 80 or text.count(",") > 1:
        return None
    last, _, first = text.partition(",")
    parts = [*first.split(), *last.split()]
    if not 1 <= len(parts) <= 6 or not all(_PART.fullmatch(part) for part in parts):
        return None
    bare = [fold_text(part.rstrip(".")) for part in parts]
    kept = [at for at, word in enumerate(bare) if word not in PARTICLES and word not in TITLES]
    # "JEAN DUPONT" and "jean dupont" are names; "Clerk of works" has a lower-case word that no name has.
    cased = text.isupper() or text.islower() or all(parts[at][0].isupper() for at in kept)
    if not kept or not cased or any(word in PLACE_WORDS for word in bare):
        return None
    # A compound such as "Anne-Marie" is looked up by its first part.
    return tuple(bare[at].split("-")[0] for at in kept)


def share_of_names(column: str, texts: Sequence[str], counts: Sequence[int], different: float) -> float | None:
    """Return the share of the texts that are shaped like names if the column holds names; None if it does not.

    `counts` is how many records have each text; `different` is the column's number of distinct values as a share of its
    records. Common names occur in many records, so they are weighted by records; the rest is counted by texts.
    """
    if len(texts) < _LEAST:
        return None
    people = [person(text) for text in texts]
    shaped = sum(words is not None for words in people) / len(texts)
    if shaped < _SHAPED:
        return None
    if _named_for_people(column):
        long = sum(words is not None and max(map(len, words)) > 1 for words in people) / len(texts)
        return shaped if long >= _SHAPED else None
    if _several_words(people) or _one_word(people, counts):
        return shaped
    if _named_for_anything(column):
        known = [(words, count) for words, count in zip(people, counts, strict=True) if words and _is_known(words)]
        weight = sum(count for _, count in known)
        if different >= _DIFFERENT or (weight >= _SOME_KNOWN * sum(counts) and len(known) >= 3):
            return shaped
    return None


def _is_known(words: Sequence[str]) -> bool:
    return words[0] in GIVEN_NAMES or words[-1] in SURNAMES


def _several_words(people: Sequence[tuple[str, ...] | None]) -> bool:
    """Whether texts of two or more words begin or end with common names, some of them given names."""
    ends = [{words[0], words[-1]} for words in people if words and len(words) > 1]
    if len(ends) < max(_LEAST, 0.5 * len(people)):
        return False
    known = [pair & (GIVEN_NAMES | SURNAMES) for pair in ends]
    given = [pair & GIVEN_NAMES for pair in ends]
    return (
        sum(map(bool, known)) >= _KNOWN * len(people)
        and sum(map(bool, given)) >= _GIVEN * len(people)
        and len(set().union(*known)) >= 5
    )


def _one_word(people: Sequence[tuple[str, ...] | None], counts: Sequence[int]) -> bool:
    """Whether single words are given names or surnames, for enough texts or enough of the records."""
    singles = [(words[0], count) for words, count in zip(people, counts, strict=True) if words and len(words) == 1]
    if len(singles) < max(_LEAST, 0.7 * len(people)):
        return False
    total = sum(count for _, count in singles)
    for known, least in ((GIVEN_NAMES, _ONE_WORD), (SURNAMES, _SURNAMES_ONLY)):
        hits = [(word, count) for word, count in singles if word in known]
        share = max(len(hits) / len(singles), sum(count for _, count in hits) / total)
        if len({word for word, _ in hits}) >= _LEAST and share >= least:
            return True
    return False


def _named_for_people(column: str) -> bool:
    """Whether the column's name means person names: "surname", "Vorname", "patient_name", "nom de famille"."""
    parts = set(name_parts(column))
    beside = parts - ANY_NAME_WORDS
    return has_word(column, PERSON_NAME_WORDS) or bool(parts & ANY_NAME_WORDS and beside and beside <= NAME_QUALIFIERS)


def _named_for_anything(column: str) -> bool:
    """Whether the column is called just "name", in some language."""
    parts = set(name_parts(column))
    return bool(parts) and parts <= ANY_NAME_WORDS


_SPECIAL = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def fold_text(text: str) -> str:
    """Return the text in lower case and without accents, so that "Müller" and "MULLER" are one word."""
    parted = unicodedata.normalize("NFKD", text.lower().translate(_SPECIAL))
    return "".join(letter for letter in parted if not unicodedata.combining(letter))


def name_parts(column: str) -> list[str]:
    """Split a column's name into folded words, in order: "firstName", "PHONE_NR", "n° de téléphone"."""
    apart = re.sub(r"(?<=[a-zà-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])", " ", column)
    return re.findall(r"[^\W\d_]+", fold_text(apart))


def has_word(column: str, wanted: frozenset[str]) -> bool:
    """Whether `wanted` has a word of the column's name, or two or three adjacent words joined: "steuer_id"."""
    parts = name_parts(column)
    runs = ("".join(parts[at : at + length]) for length in (1, 2, 3) for at in range(len(parts) - length + 1))
    return any(run in wanted for run in runs)


PHONE_WORDS = _set(
    "phone phonenumber telephone tel telefon telefonnummer telefonnr telefono telefone telefoon telefoonnummer handy "
    "handynummer mobile mobilephone mobil mobilnummer mobiel movil celular cellulare cell cellphone rufnummer fax gsm "
    "portable msisdn whatsapp"
)
ADDRESS_WORDS = _set(
    "address addr adresse anschrift wohnadresse direccion domicilio indirizzo endereco morada adres street strasse "
    "straat residenza"
)
ID_WORDS = _set(
    "ssn socialsecurity socialsecuritynumber nationalid nationalinsurance nino nir numsecu securitesociale dni nif nie "
    "codicefiscale steuerid steueridnr steuernummer steuerident taxid taxnumber tin bsn burgerservicenummer pesel "
    "personnummer passport passportno passnummer reisepass reisepassnummer passeport pasaporte passaporto paspoort "
    "ausweisnummer ausweisnr personalausweis driverslicense driverlicense drivinglicence fuhrerscheinnummer nhs "
    "nhsnumber versicherungsnummer sozialversicherungsnummer rvnr ahv ahvnummer cpf aadhaar aadhar iban"
)
NOTE_WORDS = _set(
    "note notes comment comments remark remarks freetext description narrative feedback review message bemerkung "
    "bemerkungen anmerkung anmerkungen notiz notizen kommentar freitext beschreibung remarque remarques commentaire "
    "commentaires observation observations observacion observaciones comentario comentarios nota notas annotazioni "
    "osservazioni commento commenti opmerking opmerkingen toelichting observacao observacoes"
)
PERSON_NAME_WORDS = _set(
    "surname lastname firstname forename fullname givenname familyname middlename maidenname patientname customername "
    "clientname employeename contactname vorname vornamen nachname nachnamen familienname zuname rufname geburtsname "
    "prenom prenoms nomdefamille nomcomplet patronyme apellido apellidos nombrecompleto nombredepila cognome cognomi "
    "nomecompleto nomecognome sobrenome apelido voornaam achternaam familienaam"
)
"""Names of columns that hold people's names."""
ANY_NAME_WORDS = _set("name names nom noms nombre nombres nome nomi naam")
"""Names of columns that may hold people's names, or names of products, places and files."""
NAME_QUALIFIERS = _set(
    "first last given family middle full maiden patient patients customer client person employee student contact "
    "member owner holder de del des der la le et y e complet completo completa famille pila paciente paziente kunde "
    "kunden kundin mitarbeiter patienten versicherten und and of klant legal"
)
"""Words that may accompany such a name when it means a person."""

GIVEN_NAMES = _set(
    "james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark "
    "donald steven andrew paul joshua kenneth kevin brian george timothy ronald edward jason jeffrey ryan jacob gary "
    "nicholas eric jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick jack dennis "
    "jerry tyler aaron adam henry nathan peter zachary kyle mary patricia jennifer linda elizabeth barbara susan "
    "jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna michelle carol amanda melissa "
    "deborah stephanie rebecca laura sharon cynthia kathleen amy angela shirley anna emma olivia sophia isabella mia "
    "hannah alice lucy grace megan rachel samantha nicole helen catherine diane julie oliver harry noah liam ethan "
    "hans klaus jurgen dieter wolfgang uwe stefan andreas markus matthias sebastian tobias florian jan felix lukas "
    "leon jonas maximilian moritz philipp tim niklas karl heinz werner gerhard helmut manfred bernd frank ralf "
    "ursula monika petra sabine renate brigitte ingrid gisela claudia susanne birgit heike martina andrea katharina "
    "julia lena leonie marie johanna franziska anja silke ute jean pierre michel philippe alain nicolas christophe "
    "laurent julien olivier guillaume antoine francois jacques louis hugo lucas gabriel arthur nathalie isabelle "
    "sylvie catherine francoise monique valerie sophie camille celine aurelie chloe manon lea elodie mathilde "
    "antonio jose manuel francisco juan javier carlos miguel angel fernando luis sergio jorge alberto alejandro diego "
    "pablo pedro raul alvaro maria carmen josefa isabel dolores pilar teresa rosa cristina lucia elena marta paula "
    "raquel beatriz silvia giuseppe giovanni mario luigi andrea marco francesco roberto stefano alessandro luca "
    "matteo lorenzo davide simone paolo giulia chiara francesca sara valentina alessia giorgia federica martina "
    "johannes pieter hendrik willem daan sem lars sven erik anders nils joao tiago rui ana ines katarzyna piotr "
    "krzysztof agnieszka malgorzata tomasz mehmet mustafa ayse fatma mohamed mohammed muhammad ahmed ali omar fatima "
    "aisha ivan dmitri olga natalia svetlana sanjay rajesh priya anil wei ming yuki hiroshi"
)
SURNAMES = _set(
    "smith johnson williams jones davis rodriguez wilson anderson taylor thomas moore martin thompson harris clark "
    "lewis robinson walker allen wright scott nguyen hill flores adams nelson campbell mitchell roberts evans turner "
    "phillips murphy kelly edwards hughes müller schmidt schneider weber meyer wagner schulz hoffmann schafer koch "
    "bauer richter klein wolf schroder neumann schwarz zimmermann braun kruger hofmann hartmann lange schmitt krause "
    "lehmann schmid maier kohler herrmann konig walter mayer huber kaiser fuchs peters moller weiss jung vogel "
    "bernard dubois robert richard petit durand leroy moreau simon laurent lefebvre michel david bertrand roux "
    "vincent fournier morel girard lefevre mercier dupont lambert bonnet garcia gonzalez fernandez lopez martinez "
    "sanchez perez gomez jimenez ruiz hernandez diaz moreno alvarez munoz romero alonso gutierrez navarro torres "
    "dominguez vazquez ramos ramirez serrano rossi russo ferrari esposito bianchi romano colombo ricci marino greco "
    "bruno gallo conti deluca costa giordano mancini rizzo lombardi moretti silva santos ferreira pereira oliveira "
    "rodrigues martins jansen bakker visser smit meijer mulder dejong nowak kowalski wisniewski yilmaz kaya demir "
    "singh kumar patel khan chen wang zhang li tanaka suzuki ivanov petrov andersson johansson hansen olsen nielsen"
) | {"muller"}
PARTICLES = _set("de del della di da dal do dos das van von der den ter ten zu zur la le el y e af av bin al of und")
"""Small words inside a person's name."""
TITLES = _set("mr mrs ms miss dr prof herr frau hr fr mme mlle sr sra srta sig signora dott dhr mevr sir")
PLACE_WORDS = _set(
    "san santa santo sao saint st sainte sankt north south east west new city town county school university college "
    "hospital clinic church company inc ltd llc gmbh ag sa srl bv corp bank group store shop street road avenue park "
    "lake river mount fort port beach island republic state district center centre institute department service "
    "services manager assistant engineer teacher nurse driver worker officer technician"
)
"""Words that mark a series of capitalized words as a place, a firm or an occupation, not a person."""
SMALL_WORDS = _set(
    "the and of to in is was with for on not no has had at by from der die das und ist mit nicht von zu im auf den "
    "ein eine wurde hat bei le la les et est avec pas du des un une sur dans pour el los las y es con por para se no "
    "il lo gli e con per non una che nel de het een niet met voor op o os as com para que do da"
)
"""Function words of sentences."""
