"""Words that indicate a direct identifier: in column names, among given names and surnames, in sentences.

All lists are folded: lower case, without accents, "ß" as "ss". They are short on purpose. A column is judged by many
values, so a list needs common names only, and none that is also a city, a month or an occupation.
"""

from __future__ import annotations

import re
import unicodedata

_SPECIAL = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def folded(text: str) -> str:
    """Return the text in lower case and without accents, so that "Müller" and "MULLER" are one word."""
    parted = unicodedata.normalize("NFKD", text.lower().translate(_SPECIAL))
    return "".join(letter for letter in parted if not unicodedata.combining(letter))


def name_parts(column: str) -> list[str]:
    """Split a column's name into folded words, in order: "firstName", "PHONE_NR", "n° de téléphone"."""
    apart = re.sub(r"(?<=[a-zà-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])", " ", column)
    return re.findall(r"[^\W\d_]+", folded(apart))


def named(column: str, wanted: frozenset[str]) -> bool:
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
