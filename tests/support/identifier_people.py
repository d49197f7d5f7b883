"""People made up for tests, in five languages: names, addresses, numbers and what a clerk notes about them.

The names are drawn from registers of births and not from the lists of the package; some are on both, as in any table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Language:
    """The words of one language from which people are made."""

    given: tuple[str, ...]
    surnames: tuple[str, ...]
    streets: tuple[str, ...]
    house_first: bool
    phones: tuple[str, ...]
    """# is any digit, % one from 2 to 9."""
    notes: tuple[tuple[str, ...], ...]
    """Beginnings, middles and ends of notes."""


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split())


LANGUAGES = {
    "en": Language(
        _split(
            "Olivia Amelia Isla Ava Emily Poppy Jessica Ruby Chloe Evie Freya Daisy Alice Matilda Rosie Harriet Oliver "
            "George Harry Jack Jacob Noah Charlie Alfie Freddie Archie Theo Joshua William Daniel Connor Declan Susan "
            "Margaret Doreen Keith Nigel Trevor Brenda Thomas James Gareth Sarah Rhys Bronwyn Callum Fiona Angus"
        ),
        _split(
            "Smith Patel Hughes Ashworth Bennett Cartwright Doyle Ellison Fairclough Greenhalgh Hargreaves Ibbotson "
            "Jenkins Kershaw Lomax Mather Nuttall Ogden Pickles Quayle Ramsden Sutcliffe Tattersall Underwood Varley "
            "Whittaker Yates O'Connor MacLeod Owusu Begum Davies Jones Taylor Thornton Blackwood Holloway"
        ),
        ("{} High Street", "{} Church Road", "{} Victoria Ave", "{} Mill Lane", "{} Oak Tree Drive", "{} Kings Close"),
        True,
        ("020 7### ####", "07### ######", "01### ######", "+44 7### ######"),
        (
            (
                "Patient reports",
                "She complained of",
                "Caller mentioned",
                "We discussed",
                "He has had",
                "Family worried by",
            ),
            ("mild pain in the left knee", "trouble sleeping since spring", "a rash after the new tablets", "the bill"),
            (
                "and wants a second visit.",
                "but feels better now.",
                "for about # weeks.",
                "since ## May; call back at ##.",
            ),
        ),
    ),
    "de": Language(
        _split(
            "Emilia Hannah Mia Lina Ella Clara Leni Frieda Mathilda Greta Anneliese Hildegard Waltraud Gudrun Irmgard "
            "Leon Finn Elias Paul Emil Anton Oskar Theo Karl Friedrich Günther Horst Detlef Rüdiger Jörg Thorsten Kai "
            "Kerstin Anke Maike Wiebke Sabine Claudia Jürgen Matthias Björn Jonas Lukas Sven Ulrike Beate Dörte"
        ),
        _split(
            "Müller Schmidt Brandt Petersen Hinrichs Lüders Thiessen Böttcher Voß Jessen Eggers Kröger Wiechmann Stolz "
            "Ahrens Claussen Dierks Freese Gätjens Heinsohn Kühl Lorenzen Mohr Oltmanns Pape Rathjen Sievers Timm Uhl "
            "Wulff Ziegler Fischer Weber Becker Öztürk Nowak Grünwald Hößler"
        ),
        ("Hauptstraße {}", "Goethestr. {}", "Am Markt {}", "Lindenweg {}", "Schillerplatz {}", "Kölner Straße {}a"),
        False,
        ("030 #######", "0171 #######", "089/######", "+49 151 ########", "0221 ## ## ##"),
        (
            (
                "Patientin klagt über",
                "Der Kunde berichtet von",
                "Im Gespräch ging es um",
                "Angehörige melden",
                "Er hat",
            ),
            (
                "starke Schmerzen im linken Knie",
                "Probleme beim Schlafen",
                "eine offene Rechnung",
                "Ärger am Arbeitsplatz",
            ),
            (
                "und möchte einen neuen Termin.",
                "seit etwa ## Tagen.",
                "aber es geht wieder besser.",
                "bitte am #. anrufen.",
            ),
        ),
    ),
    "fr": Language(
        _split(
            "Jade Louise Ambre Alma Rose Lina Romane Agathe Zoé Margaux Solène Maëlle Gwenaëlle Odile Huguette Josiane "
            "Gabriel Léo Raphaël Maël Jules Adam Sacha Ethan Gaspard Loïc Yannick Thierry Gilles Bruno Didier Fabrice "
            "Pascal Jean Pierre Sylvie Nathalie Camille Manon Chloé Antoine Nicolas Hélène Bernadette Ghislaine"
        ),
        _split(
            "Martin Bernard Petit Garnier Chevalier Blanchard Joly Gauthier Perrin Morin Masson Marchand Duval Denis "
            "Lemaire Noël Meyer Dufour Meunier Brun Giraud Rivière Caron Gaillard Barbier Arnaud Renaud Schmitt Colin "
            "Vidal Picard Hubert Le-Goff Kerautret Da-Silva Benali Traoré Lefèvre"
        ),
        (
            "{} rue de la République",
            "{} avenue Foch",
            "{} bis, chemin des Vignes",
            "{} place du Marché",
            "{} boulevard Carnot",
        ),
        True,
        ("06 ## ## ## ##", "01.##.##.##.##", "+33 6 ## ## ## ##", "04 ## ## ## ##"),
        (
            ("Le patient se plaint", "Madame signale", "Nous avons parlé", "La famille s'inquiète", "Il souffre"),
            ("de douleurs au genou gauche", "d'un mauvais sommeil", "de la facture impayée", "du nouveau traitement"),
            ("et demande un rendez-vous.", "depuis environ ## jours.", "mais va mieux.", "à rappeler le # mai."),
        ),
    ),
    "es": Language(
        _split(
            "Martina Lucía Valeria Julia Daniela Noa Vega Carla Triana Candela Rocío Encarnación Milagros Remedios "
            "Hugo Mateo Martín Leo Manuel Iker Izan Gonzalo Rodrigo Nacho Ignacio Eusebio Anselmo Fermín Joaquín "
            "María Carmen José Antonio Francisco Javier Raquel Sergio Pablo Inmaculada Maite Itziar Aitor Jordi"
        ),
        _split(
            "García Ortega Rubio Molina Delgado Castro Ortiz Marín Sanz Iglesias Núñez Medina Garrido Cortés Castillo "
            "Santos Lozano Guerrero Cano Prieto Méndez Cruz Calvo Gallego Vidal León Márquez Herrera Peña Cabrera "
            "Etxebarria López Fernández Puig Ferrer Aguirre Zubizarreta Montero"
        ),
        (
            "Calle Mayor {}",
            "Avda. de la Constitución {}",
            "C/ San Juan, {}",
            "Plaza de España {}",
            "Paseo del Prado {}",
        ),
        False,
        ("6## ### ###", "91# ## ## ##", "+34 6## ### ###", "9## ### ###"),
        (
            (
                "La paciente refiere",
                "El cliente comenta",
                "Hablamos de",
                "La familia avisa de",
                "Tiene desde hace tiempo",
            ),
            (
                "dolor en la rodilla izquierda",
                "problemas para dormir",
                "una factura pendiente",
                "molestias con la medicación",
            ),
            ("y pide otra cita.", "desde hace ## días.", "pero ya está mejor.", "hay que llamar el día #."),
        ),
    ),
    "it": Language(
        _split(
            "Sofia Aurora Giulia Ginevra Vittoria Beatrice Alice Ludovica Azzurra Matilde Camilla Concetta Assunta "
            "Leonardo Tommaso Edoardo Riccardo Mattia Diego Nicolò Enea Ettore Pietro Gennaro Salvatore Carmelo Rocco "
            "Marco Luca Andrea Francesca Chiara Elisa Federico Domenico Patrizia Loredana Graziella Mirko Ivano"
        ),
        _split(
            "Rossi Bianchi Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone Longo Gentile "
            "Martinelli Vitale Lombardo Serra Coppola De-Santis D'Angelo Marchetti Parisi Villa Conte Ferraro Ferri "
            "Fabbri Bianco Marini Grasso Valentini Messina Sala De-Angelis Gatti Pellegrini"
        ),
        ("Via Roma {}", "Viale Garibaldi, {}", "Piazza Dante {}", "Corso Vittorio Emanuele {}", "Via dei Mille, {}"),
        False,
        ("3## #######", "02 ########", "06 #######", "+39 3## ### ####"),
        (
            ("La paziente riferisce", "Il cliente lamenta", "Abbiamo parlato di", "I familiari segnalano", "Soffre di"),
            (
                "dolore al ginocchio sinistro",
                "problemi di sonno",
                "una fattura non pagata",
                "disturbi con la nuova terapia",
            ),
            ("e chiede un altro appuntamento.", "da circa ## giorni.", "ma adesso sta meglio.", "da richiamare il #."),
        ),
    ),
}


class Clerk:
    """Fills in forms for people of one language, always the same for the same seed."""

    def __init__(self, language: str, seed: int) -> None:
        self.words = LANGUAGES[language]
        self.random = np.random.default_rng(seed)

    def pick(self, of: tuple[str, ...]) -> str:
        """One of them, the first ones more often, as with names."""
        return of[min(int(self.random.exponential(len(of) / 2.5)), len(of) - 1)]

    def digits(self, form: str) -> str:
        """The form with a digit for every sharp sign."""
        return "".join(str(self.random.integers(10)) if sign == "#" else sign for sign in form)

    def given(self) -> str:
        return self.pick(self.words.given)

    def surname(self) -> str:
        return self.pick(self.words.surnames).replace("-", " ")

    def full(self) -> str:
        return f"{self.given()} {self.surname()}"

    def turned(self) -> str:
        return f"{self.surname()}, {self.given()}"

    def shouted(self) -> str:
        return f"{self.surname()} {self.given()}".upper()

    def email(self) -> str:
        host = self.pick(("gmail.com", "web.de", "orange.fr", "mail.example.org", "example.co.uk", "libero.it"))
        number = int(self.random.integers(1, 99))
        return f"{self.given()}.{self.surname()}{number}@{host}".lower().replace(" ", "").replace("'", "")

    def phone(self) -> str:
        return self.digits(self.pick(self.words.phones))

    def address(self) -> str:
        return self.pick(self.words.streets).format(int(self.random.integers(1, 180)))

    def note(self) -> str:
        return self.digits(" ".join(self.pick(part) for part in self.words.notes)) + self.digits(" Ref ###.")

    def card(self) -> str:
        return with_luhn(self.digits("4" + "#" * 14))

    def national_id(self, language: str) -> str:
        """A personal number of the language's country, with its check signs."""
        number = int(self.random.integers(10**6, 10**8))
        if language == "en":
            return self.digits("2#") + f"{number % 10}-{10 + number % 89}-{1000 + number % 8999}"
        if language == "de":
            return with_iso_7064(self.digits("4#########"))
        if language == "fr":
            base = f"{1 + number % 2}{self.digits('##')}{1 + number % 12:02}{self.digits('7#')}{self.digits('######')}"
            return f"{base}{97 - int(base) % 97:02}"
        if language == "es":
            return f"{number:08}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"
        letters = "".join(chr(65 + int(code)) for code in self.random.integers(0, 26, 8))
        born = f"{self.digits('##')}{'ABCDEHLMPRST'[number % 12]}{1 + number % 28:02}"
        return f"{letters[:6]}{born}H{self.digits('###')}{letters[7]}"

    def iban(self) -> str:
        """A German one."""
        account = self.digits("#" * 18)
        check = 98 - int(f"{account}131400") % 97
        plain = f"DE{check:02}{account}"
        return " ".join(plain[at : at + 4] for at in range(0, len(plain), 4))


def with_luhn(digits: str) -> str:
    """The digits with their Luhn check digit, by trying all ten."""
    return next(f"{digits}{check}" for check in range(10) if _luhn_sum(f"{digits}{check}") % 10 == 0)


def _luhn_sum(digits: str) -> int:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total


def with_iso_7064(digits: str) -> str:
    """Ten digits with the eleventh of a German tax number."""
    product = 10
    for digit in digits:
        product = 2 * ((int(digit) + product) % 10 or 10) % 11
    return f"{digits}{(11 - product) % 10}"
