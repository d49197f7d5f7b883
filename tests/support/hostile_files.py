"""Files that no program should be handed, each with the answer that it gets: accepted, or a sentence and an exit code.

Each file is the release of an audit. `make` is its content, or a function that writes it. In a file that is refused
for its content, the cells that no message may show contain SECRET.
"""

import gzip
import io
import os
import socket
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from examples import TIMES
from workbooks import write_workbook

SECRET = "SECRETCELL"  # noqa: S105 - a cell that must not be shown
FULL = TIMES > 1
"""Whether the large files have their full size."""
ORIGINAL = {"category": "1", "numeric": "1", "datetime": "2024-05-01"}
"""A cell of the original table for each kind of column."""


@dataclass(frozen=True)
class Case:
    """One file: its content, its name, and the answer; without an answer it is accepted."""

    make: object
    answer: str | None = None
    code: int = 3
    file: str = "p.csv"
    kinds: Mapping[str, str] = field(default_factory=lambda: {"x": "category"})
    reading: Mapping[str, object] = field(default_factory=dict)
    part: str = ""
    cells: Mapping[str, list] | None = None
    """The cells of columns as they must be read, where the file is no CSV file."""

    def write(self, folder):
        """Write the file, and return the table's name for the command line."""
        path = folder / self.file
        if isinstance(self.make, Callable):
            self.make(path)
        else:
            path.write_bytes(self.make if isinstance(self.make, bytes) else self.make.encode())
        return f"{path}{self.part}"


def rows(*cells, name="x"):
    """A CSV text with the column `x`, one cell a row, and a second column."""
    return f"{name},y\n" + "".join(f"{cell},1\n" for cell in cells)


def numeric(*cells, answer=None, code=3, **reading):
    return Case(rows(*cells), answer, code, kinds={"x": "numeric"}, reading=reading)


def times(*cells, answer=None, code=3, **reading):
    return Case(rows(*cells), answer, code, kinds={"x": "datetime"}, reading=reading)


def packed(content, **settings):
    """A gzip file."""
    return gzip.compress(content if isinstance(content, bytes) else content.encode(), mtime=0, **settings)


def encoded(encoding):
    return rows("Zoë", "a").encode(encoding)


PLAIN = rows("a", "b", "c")
FEWER, MORE = "found fewer fields than the header has", "found more fields than the header has"
QUOTE = "found a quote that is not closed, or text after a closing quote"
LONG = "found a record longer than two megabytes"
NOT_UTF8, HEADER = "found bytes that are not UTF-8", "the header cannot be read as UTF-8 text"
ENDS = "can be read, but the file has"
NO_CSV = "the file cannot be read as CSV"
CUT = "the file cannot be opened, or is cut off or damaged"
PARQUET = "the file is damaged, or cannot be read as Parquet"
EXCEL = "the file cannot be read as an Excel workbook"
DATABASE = "the file cannot be opened as a DuckDB database"
TEXT = "found text where a number or an interval is declared"
DAY = "found text where a time such as 2024-05-01 13:45:00 is declared"
NAMES = "have the same name"
NO_COLUMN = "no observable column has a value in every table"
EITHER = "read or refused"
"""A file whose damage may leave it whole: Parquet needs no checksum."""
BEYOND = "found a number beyond 1e+140 or -1e+140"

ENCODINGS = {
    "a byte-order mark": Case("\ufeff" + PLAIN),
    "a byte-order mark before a quoted name": Case('\ufeff"x",y\na,1\n'),
    "two byte-order marks": Case("\ufeff\ufeff" + PLAIN, NO_COLUMN),
    "a byte-order mark inside": Case(rows("\ufeffa", "a")),
    "UTF-16 with a mark": Case(encoded("utf-16"), HEADER),
    "UTF-16 without a mark": Case(encoded("utf-16-le"), "zero byte"),
    "UTF-16 with the other end first": Case(encoded("utf-16-be"), "zero byte"),
    "UTF-32": Case(encoded("utf-32"), HEADER),
    "EBCDIC": Case(encoded("cp500"), HEADER),
    "Latin-1": Case(encoded("latin-1"), "set `reading.encoding` to latin-1"),
    "Latin-1 as it is set": Case(encoded("latin-1"), reading={"encoding": "latin-1"}),
    "Windows-1252": Case(rows("€", "ë").encode("cp1252"), "set `reading.encoding` to windows-1252"),
    "Windows-1252 as it is set": Case(rows("€", "ë").encode("cp1252"), reading={"encoding": "windows-1252"}),
    "UTF-8 though Latin-1 is set": Case(encoded("utf-8"), reading={"encoding": "latin-1"}),
    "bytes that Windows-1252 does not have": Case(
        b"x,y\n\x81,1\n\x8d,1\n\x80,1\n",
        "found bytes that windows-1252 does not define",
        reading={"encoding": "windows-1252"},
    ),
    "a name with a byte that Windows-1252 does not have": Case(
        b"x,\x81\na,1\n", "the header has bytes that windows-1252 does not define", reading={"encoding": "windows-1252"}
    ),
    "a broken record in Latin-1": Case(
        f"x,y\n\xeb,1\n{SECRET}\n".encode("latin-1"), FEWER, reading={"encoding": "latin-1"}
    ),
    "a long cell in Latin-1": Case(
        f"x,y\n\xeb,1\n{'a' * 200_000},1\n".encode("latin-1"), reading={"encoding": "latin-1"}
    ),
    "an overlong zero": Case(b"x,y\nSECRETCELL\xc0\x80,1\n", NOT_UTF8),
    "half of a pair": Case(b"x,y\nSECRETCELL\xed\xa0\x80,1\n", NOT_UTF8),
    "half of a letter at the end": Case(b"x,y\na,1\nb,\xc3", NOT_UTF8),
    "half of a letter in a quoted field": Case(b'x,y\n"SECRETCELL\xc3",1\n', NOT_UTF8),
    "a byte that is never UTF-8": Case(b"x,y\nSECRETCELL\xff,1\n", NOT_UTF8),
    "a code beyond Unicode": Case(b"x,y\nSECRETCELL\xf4\x90\x80\x80,1\n", NOT_UTF8),
    "a zero byte in a cell": Case(rows("a\0b", "a"), "zero byte"),
    "a zero byte in the header": Case("x\0,y\na,1\n", "zero byte"),
    "control characters": Case(rows("\x01", "\x1b[31m", "\x7f", "\x08")),
    "the last letters of Unicode": Case(rows("\uffff", "\U0010ffff", "\ufffd")),
    "letters that turn the line around": Case(rows("\u202eabc", "\u2066abc")),
    "other line ends of Unicode": Case(rows("a\u2028b", "a\u2029b", "a\x85b", "a\x0bb", "a\x0cb")),
    "letters that look alike": Case(rows("a", "\u0430", "\uff41", "a\u200b", "a\u00a0")),
    "one letter in two spellings": Case(rows("\u00e9", "e\u0301")),
}

QUOTING = {
    "a quoted delimiter": Case('x,y\n"a,b",1\n'),
    "a quoted line end": Case('x,y\n"a\nb\r\nc\rd",1\n'),
    "doubled quotes": Case('x,y\n"a""b",1\n"""",1\n"""a""",1\n'),
    "everything quoted": Case('"x","y"\n"a","1"\n'),
    "quoted nothing": Case('x,y\n"",1\na,""\n'),
    "a quote inside a plain field": Case('x,y\n5" pipe,1\na"b"c,1\n'),
    "a quote at the end of a plain field": Case('x,y\na",1\n'),
    "single quotes": Case("x,y\n'a',1\n'b,1\n"),
    "a backslash before a quote": Case('x,y\n"a\\",1\n'),
    "a backslash and a quote inside": Case(f'x,y\n"{SECRET}\\"b",1\n', QUOTE),
    "blanks before a quote": Case(f'x,y\na,1\n  "{SECRET}",1\n', "found blanks before the quote that opens a field"),
    "a blank before a quote": Case('x,y\n "a,b", "1"\n'),
    "a blank before a quote in Latin-1": Case(
        f'x,y\n\xeb,1\n "{SECRET}",1\n'.encode("latin-1"),
        "found blanks before the quote that opens a field",
        reading={"encoding": "latin-1"},
    ),
    "blanks before names": Case('x, y, "z"\na,1,2\n', kinds={"x": "category", " y": "category", "z": "category"}),
    "blanks before a quoted name": Case('x,  "y"\na,1\n', "the header has a quote"),
    "blanks behind a quote": Case('x,y\n"a"  ,"1" \n'),
    "a tab before a quote": Case('x,y\n\t"a",1\n'),
    "an open quote in the last record": Case(f'x,y\na,1\n"{SECRET},1\n', QUOTE),
    "an open quote in the first record": Case(f'x,y\n"{SECRET},1\nb,1\nc,1\n', QUOTE),
    "an open quote in the header": Case('"x,y\na,1\nb,1\n', "the header has a quote that is not closed"),
    "text behind a quoted name": Case('"x"z,y\na,1\n', "the header has a quote that is not closed"),
    "text behind a quote": Case(f'x,y\n"a"{SECRET},1\n', QUOTE),
    "a quoted field behind text": Case('x,y\na "b",1\n'),
    "three quotes": Case(f'x,y\n"""{SECRET},1\n', QUOTE),
    "a quoted line end in a name": Case('"x","y\nz"\na,1\n'),
    "a quoted delimiter in a name": Case('"x","y,z"\na,1\n'),
    "nothing but quotes": Case('x\n""\n"a"\n""\n'),
    "semicolons": Case("x;y\na;1\n", "the fields are separated by `;`, but read as separated by `,`"),
    "tabs": Case("x\ty\na\t1\n", "the fields are separated by a tab, but read as separated by `,`"),
    "semicolons as they are set": Case("x;y\na,b;1\n", reading={"delimiter": ";"}),
    "a letter as the delimiter": Case("xqy\naq1\n", reading={"delimiter": "q"}),
    "a delimiter of two bytes": Case("x§y\na§1\n", reading={"delimiter": "§"}),
    "a quote as the delimiter": Case(PLAIN, "`reading.delimiter` cannot separate fields", reading={"delimiter": '"'}),
    "a blank as the delimiter": Case("x y\na 1\n", NO_CSV, reading={"delimiter": " "}),
    "a tsv file": Case("x\ty\na,b\t1\n", file="p.tsv"),
    "commas in a tsv file": Case("x,y\na,1\n", NO_COLUMN, file="p.tsv"),
    "a formula": Case(rows("=1+1", "@SUM(A1)", "+1", "-1")),
    "markup": Case(rows("<script>alert(1)</script>", "&lt;", "{{x}}", "${x}", "'; DROP TABLE t; --")),
}

RAGGED = {
    "fewer fields": Case(f"x,y\na,1\n{SECRET}\n", FEWER),
    "more fields": Case(f"x,y\na,1\n{SECRET},1,2\n", MORE),
    "a delimiter at every end": Case("x,y\na,1,\nb,1,\n", MORE),
    "a delimiter at every end, also of the header": Case("x,y,\na,1,\nb,1,\n"),
    "fewer fields, far down": Case("x,y\n" + "a,1\n" * 5000 + f"{SECRET}\n", FEWER),
    "a header that is too short": Case(f"x\n{SECRET},1\n", MORE),
    "a header that is too long": Case(f"x,y,z\n{SECRET},1\n", FEWER),
    "a comment before the header": Case("# written today\nx,y\na,1\n", MORE),
    "a sum below": Case("x,y\na,1\n\nsum of everything\n", FEWER),
    "blank lines between": Case("x,y\n\na,1\n\n\nb,1\n\n"),
    "a blank first line": Case("\nx,y\na,1\n", "the first line is empty"),
    "lines of blanks": Case("x,y\n   \na,1\n", FEWER),
    "lines of blanks in one column": Case("x\n   \na\n"),
    "no line end at the end": Case("x,y\na,1\nb,2"),
    "CRLF": Case(PLAIN.replace("\n", "\r\n")),
    "CR": Case(PLAIN.replace("\n", "\r")),
    "CRLF and LF": Case(f"x,y\r\na,1\n{SECRET},1\r\n", NO_CSV),
    "LF and CRLF": Case("x,y\na,1\r\nb,1\n", NO_CSV),
    "two line ends in CRLF": Case("x,y\r\r\na,1\r\r\n", NO_CSV),
    "a header alone": Case("x,y\n", "the table has no rows"),
    "nothing": Case(b"", "the file is empty"),
    "nothing but line ends": Case("\n\n\n", "the first line is empty"),
    "nothing but a byte-order mark": Case("\ufeff", "the file is empty"),
    "nothing but delimiters": Case(",,,\n,,,\n", NAMES),
    "one zero byte": Case(b"\0", "zero byte"),
    "nothing but zero bytes": Case(bytes(5000), "zero byte"),
}

NAMED = {
    "one name twice": Case(f"x,{SECRET},{SECRET}\na,1,2\n", "fields 2 and 3 have the same name"),
    "two columns without a name": Case("x,,\na,1,2\n", NAMES),
    "one column without a name": Case("x,\na,1\n"),
    "names that differ in case": Case("x,X\na,b\n", kinds={"x": "category", "X": "category"}),
    "names that look alike": Case("x,\u0445\na,b\n", kinds={"x": "category", "\u0445": "category"}),
    "names that differ in a blank": Case("x,x \na,b\n", kinds={"x": "category", "x ": "category"}),
    "names that differ in a blank, stripped": Case("x,x \na,b\n", NAMES, reading={"strip": True}),
    "names that differ in a hidden space": Case("x,x\u200b\na,b\n", kinds={"x": "category", "x\u200b": "category"}),
    "one name in two spellings": Case("x,\u00e9,e\u0301\na,b,c\n", kinds={"\u00e9": "category", "e\u0301": "category"}),
    "names of DuckDB": Case("x,rowid,c0,select\na,1,2,3\n", kinds={"rowid": "category", "c0": "category"}),
    "a name of SQL": Case('x,"a""; DROP TABLE t; --"\na,b\n', kinds={'a"; DROP TABLE t; --': "category"}),
    "the column under another name": Case("X,y\na,1\n", NO_COLUMN),
    "a name of blanks": Case("x,   \na,1\n"),
    "a long name": Case(f"x,{'n' * 100_000}\na,1\n"),
    "a very long name": Case(f"x,{'n' * 200_000}\na,1\n"),
    "no header": Case(f"{SECRET},1\nb,2\n", NO_COLUMN),
}

MISSING = {
    "spellings of nothing": Case(rows("NA", "N/A", "null", "None", "nan", "NaN", "-", "?", "#N/A", "")),
    "spellings of nothing as they are set": Case(rows("NA", "a", "", "?"), reading={"missing": ["", "NA", "?"]}),
    "nothing in quotes": Case(rows('""', '" "', "a")),
    "blanks": Case(rows(" ", "  ", "a")),
    "blanks that are stripped": Case(rows(" ", " a ", "\u00a0"), reading={"strip": True}),
    "NA among numbers": numeric("1", "NA"),
    "null among numbers": numeric("1", "null", answer=TEXT),
    "nan among numbers": numeric("1", "nan", answer=TEXT),
    "a question mark among numbers": numeric("1", "??", answer=TEXT),
    "NA among numbers as it is set": numeric("1", "NA", "", missing=["", "NA"]),
    "999 as it is set": numeric("1", "999", "999.0", missing=["", "999"]),
    "NA among times": times("2024-05-01", "N.A.", answer=DAY),
    "nothing that is no gap": numeric("1", "", answer=TEXT, missing=["NA"]),
    "a column of nothing": Case(rows("", ""), NO_COLUMN),
    "the text that stands for NULL": Case(rows("\x01\x02no such field\x02\x01", "a")),
    "a backslash and N": Case(rows("\\N", "a")),
}

FLOATS = {
    "the largest float": numeric("1.7976931348623157e308", answer=BEYOND),
    "the smallest float of all": numeric("-1.7976931348623157e308", answer=BEYOND),
    "above the largest float": numeric("1", "1.8e308", answer="found infinity"),
    "far above the largest float": numeric("1", "1e99999", answer="found infinity"),
    "infinity": numeric("1", "inf", answer=TEXT),
    "infinity in capitals": numeric("1", "Infinity", answer=TEXT),
    "the largest that is compared": numeric("1e140", "-1e140"),
    "above the largest that is compared": numeric("1.0000001e140", answer=BEYOND),
    "the least float above nothing": numeric("4.9e-324", "2.2250738585072011e-308"),
    "below the least float": numeric("1e-400", "1"),
    "minus nothing": numeric("-0", "-0.0", "+0"),
    "many digits": numeric("0.1000000000000000055511151231257827021181583404541015625", "0.30000000000000004"),
    "halfway between two floats": numeric(
        "9007199254740993.0", "1.00000000000000011102230246251565404236316680908203125"
    ),
    "very many digits": numeric("0." + "3" * 5000, "1" * 100),
    "forms of a number": numeric("1.", ".5", "+3", "1E5", "1e+05", "007"),
    "blanks around a number": numeric(" 1 ", "2 "),
    "a number in other digits": numeric("1", "١٢٣", answer=TEXT),
    "a number with a wide digit": numeric("1", "\uff11", answer=TEXT),
    "a number in base 16": numeric("1", "0x1F", answer=TEXT),
    "a number with an underscore": numeric("1", "1_000", answer=TEXT),
    "a number with a unit": numeric("1", f"5 {SECRET}", answer=TEXT),
    "a number and a plus": numeric("1", "1+", answer=None),
    "two points": numeric("1", "1.2.3", answer=TEXT),
    "no digits": numeric("1", ".", answer=TEXT),
    "an exponent alone": numeric("1", "e5", answer=TEXT),
    "a decimal comma": numeric('"1,5"', answer="found an ambiguous text"),
    "a decimal comma as it is set": Case(
        "x;y\n1,5;1\n1.234,5;1\n", kinds={"x": "numeric"}, reading={"delimiter": ";", "decimal": ","}
    ),
    "a Unicode minus": numeric("1", "\u22125", answer=TEXT),
}

INTEGERS = {
    "2^53 as numbers": numeric("9007199254740992", "9007199254740991"),
    "2^53 + 1 as a number": numeric("9007199254740993", "1"),
    "2^64 as a number": numeric("18446744073709551616", "1"),
    "2^127 as a number": numeric("170141183460469231731687303715884105728", "1"),
    "2^53 + 1 as a label": Case(rows("9007199254740992", "9007199254740993", "9007199254740992.0")),
    "2^64 as a label": Case(rows("18446744073709551615", "18446744073709551616")),
    "zeros in front": Case(rows("007", "7", "07", "7.0")),
}

DATES = {
    "the 30th of February": times("2024-05-01", "2024-02-30", answer=DAY),
    "the 29th of February 2023": times("2024-05-01", "2023-02-29", answer=DAY),
    "the 29th of February 1900": times("2024-05-01", "1900-02-29", answer=DAY),
    "the 29th of February 2000": times("2000-02-29", "2024-02-29"),
    "the 31st of April": times("2024-05-01", "2024-04-31", answer=DAY),
    "a 13th month": times("2024-05-01", "2024-13-01", answer=DAY),
    "a month of nothing": times("2024-05-01", "2024-00-10", answer=DAY),
    "a day of nothing": times("2024-05-01", "2024-01-00", answer=DAY),
    "the year 0": times("2024-05-01", "0000-01-01", answer=DAY),
    "the year 1": times("0001-01-01", "2024-05-01"),
    "the year 9999": times("9999-12-31", "9999-12-31 23:59:59.999999"),
    "the year 10000": times("2024-05-01", "10000-01-01", answer=DAY),
    "the 25th hour": times("2024-05-01", "2024-05-01 25:00:00", answer=DAY),
    "the 24th hour": times("2024-05-01", "2024-05-01 24:00:00"),
    "the 60th minute": times("2024-05-01", "2024-05-01 10:60:00", answer=DAY),
    "a leap second": times("2024-05-01", "2016-12-31 23:59:60", answer=DAY),
    "a time before 1970": times("1969-12-31 23:59:59.999999", "1582-10-10"),
    "a time to the nanosecond": times("2024-05-01 10:00:00.123456789", "2024-05-01 10:00:00.1"),
    "a time with T and Z": times("2024-05-01T10:00:00Z", "2024-05-01T10:00"),
    "a time with another zone": times("2024-05-01", "2024-05-01 10:00:00+02:00"),
    "a day with slashes": times("2024-05-01", "31/12/2024", answer="`reading.dates`"),
    "a day with slashes as it is set": times("2024-05-01", "31/12/2024", dates="day_first"),
    "a day of the other order": times("2024-05-01", "12/31/2024", answer="found", dates="day_first"),
    "a day with blanks": times("2024-05-01", " 2024-05-02"),
    "a number of seconds": times("2024-05-01", "1714557600", answer=DAY),
}


def repeated(content, times):
    """The same bytes again and again, compressed."""

    def write(path):
        with gzip.open(path, "wb", compresslevel=6) as file:
            file.write(b"x,y\n")
            for _ in range(times):
                file.write(content)

    return write


GZIP = {
    "gzip": Case(packed(PLAIN), file="p.csv.gz"),
    "two gzip files in one": Case(packed("x,y\na,1\n") + packed("b,1\n"), file="p.csv.gz"),
    "gzip with bytes behind it": Case(packed(PLAIN) + b"garbage", CUT, file="p.csv.gz"),
    "gzip with zero bytes behind it": Case(packed(PLAIN) + bytes(64), CUT, file="p.csv.gz"),
    "half a gzip": Case(packed(PLAIN * 500)[:40], CUT, file="p.csv.gz"),
    "gzip without its checksum": Case(packed(PLAIN)[:-8], CUT, file="p.csv.gz"),
    "gzip with another checksum": Case(packed(PLAIN)[:-8] + b"\1\2\3\4" + packed(PLAIN)[-4:], CUT, file="p.csv.gz"),
    "gzip with another length": Case(packed(PLAIN)[:-4] + b"\1\2\3\4", CUT, file="p.csv.gz"),
    "gzip of nothing": Case(packed(b""), "the file is empty", file="p.csv.gz"),
    "no gzip": Case(PLAIN, CUT, file="p.csv.gz"),
    "an empty gzip file": Case(b"", "the file is empty", file="p.csv.gz"),
    "gzip called CSV": Case(packed(PLAIN), "the header", file="p.csv"),
    "gzip in gzip": Case(packed(packed(PLAIN)), "the header", file="p.csv.gz"),
    "gzip of a tsv": Case(packed("x\ty\na\t1\n"), file="p.tsv.gz"),
    "a compression bomb of lines": Case(
        repeated(b"a,1\n" * 250_000, 100 if FULL else 20), "`reading.limits.expansion`", 4, "p.csv.gz"
    ),
    "a compression bomb in one cell": Case(repeated(b"a" * (1 << 20), 1000 if FULL else 20), LONG, file="p.csv.gz"),
    "a small file that expands much": Case(packed(b"x,y\n" + b"a,1\n" * 20_000), file="p.csv.gz"),
}


def parquet(table, **settings):
    def write(path):
        pq.write_table(table, path, **settings)

    return write


def harmed(harm):
    """A Parquet file whose bytes are changed."""

    def write(path):
        table = pa.table({"x": [SECRET, "b", "c"] * 300, "y": np.arange(900)})
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        path.write_bytes(harm(bytearray(buffer.getvalue())))

    return write


def turned(at):
    """A bit of a Parquet file is turned, at this share of its length."""

    def harm(content):
        content[int(at * (len(content) - 1))] ^= 16
        return bytes(content)

    return harmed(harm)


def cut(share):
    return harmed(lambda content: bytes(content[: int(share * len(content))]))


PARQUETS = {
    "Parquet": Case(parquet(pa.table({"x": ["a", None, ""]})), file="p.parquet", cells={"x": ["a", None, None]}),
    "Parquet without rows": Case(
        parquet(pa.table({"x": pa.array([], pa.string())})), "the table has no rows", file="p.parquet"
    ),
    "Parquet without columns": Case(parquet(pa.table({})), PARQUET, file="p.parquet"),
    "Parquet with one name twice": Case(parquet(pa.table([["a"], ["b"]], names=["x", "x"])), NAMES, file="p.parquet"),
    "Parquet with names that differ in case": Case(
        parquet(pa.table({"x": ["a"], "X": ["b"]})), file="p.parquet", cells={"x": ["a"]}
    ),
    "Parquet of lists": Case(parquet(pa.table({"x": [["a"], ["b"]]})), file="p.parquet", cells={"x": ["[a]", "[b]"]}),
    "Parquet with 2^53 + 1": Case(
        parquet(pa.table({"x": [2**53, 2**53 + 1]})),
        file="p.parquet",
        cells={"x": ["9007199254740992", "9007199254740993"]},
    ),
    "Parquet with NaN": Case(parquet(pa.table({"x": [1.0, np.nan]})), file="p.parquet", cells={"x": ["1", None]}),
    "Parquet with infinity": Case(
        parquet(pa.table({"x": [1.0, np.inf]})), "found infinity", file="p.parquet", kinds={"x": "numeric"}
    ),
    "Parquet with a decimal": Case(
        parquet(pa.table({"x": pa.array(["1.50", "2.00"]).cast(pa.decimal128(5, 2))})),
        file="p.parquet",
        cells={"x": ["1.5", "2"]},
    ),
    "Parquet of bytes that are no text": Case(
        parquet(pa.table({"x": pa.array([b"\xff\xfe", b"a"], pa.binary())})),
        file="p.parquet",
        cells={"x": ["\\xFF\\xFE", "a"]},
    ),
    "Parquet with a time beyond every calendar": Case(
        parquet(pa.table({"x": pa.array([2**62, 0], pa.timestamp("us"))})),
        "found",
        file="p.parquet",
        kinds={"x": "datetime"},
    ),
    "nothing called Parquet": Case(b"", PARQUET, file="p.parquet"),
    "CSV called Parquet": Case(PLAIN, PARQUET, file="p.parquet"),
    "the ends of Parquet alone": Case(b"PAR1PAR1", PARQUET, file="p.parquet"),
    "Parquet with a long footer": Case(b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1", PARQUET, file="p.parquet"),
    "encrypted Parquet": Case(b"PARE" + bytes(100) + b"\x10\0\0\0PARE", PARQUET, file="p.parquet"),
    "Parquet with bytes behind it": Case(
        harmed(lambda content: bytes(content) + b"garbage"), PARQUET, file="p.parquet"
    ),
    "Parquet with a hole": Case(
        harmed(lambda content: bytes(content[:4] + bytes(100) + content[104:])), PARQUET, file="p.parquet"
    ),
    **{
        f"Parquet cut at {share:.0%}": Case(cut(share), PARQUET, file="p.parquet")
        for share in (0.01, 0.3, 0.6, 0.9, 0.999)
    },
    **{f"Parquet turned at {at:.0%}": Case(turned(at), EITHER, file="p.parquet") for at in np.linspace(0, 1, 21)},
    "a Parquet bomb": Case(
        parquet(
            pa.table({"x": ["a" * 1000] * (200_000 if FULL else 30_000)}),
            compression="zstd",
            use_dictionary=False,
            write_statistics=False,
        ),
        "`reading.limits.expansion`",
        4,
        "p.parquet",
    ),
}


def workbook(*cells):
    def write(path):
        write_workbook(path, {"Sheet": [list(row) for row in cells]})

    return write


def changed_workbook(change):
    """A workbook with the text of its sheet changed."""

    def write(path):
        write_workbook(path, {"Sheet": [["x", "y"], ["a", 1]]})
        with zipfile.ZipFile(path) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in parts.items():
                file.writestr(name, change(content) if "sheet1" in name else content)

    return write


def lying_workbook(path):
    """A sheet that says to be small, and expands to many megabytes."""
    changed_workbook(lambda content: content.replace(b"</row>", b"</row>" + b" " * (20 << 20), 1))(path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        size = next(member for member in file.infolist() if "sheet1" in member.filename).file_size.to_bytes(4, "little")
    path.write_bytes(bytes(content).replace(size, (900).to_bytes(4, "little")))


def archive(**members):
    def write(path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)

    return write


ENTITY = b'?><!DOCTYPE a [<!ENTITY e "SECRETCELL">]>'


def cut_workbook(path):
    workbook(["x"], ["a"])(path)
    path.write_bytes(path.read_bytes()[:-300])


WORKBOOKS = {
    "a workbook": Case(
        workbook(["x", "y"], ["a", 1], ["b", 2]), file="p.xlsx", cells={"x": ["a", "b"], "y": ["1", "2"]}
    ),
    "a workbook with one name twice": Case(workbook(["x", "x"], ["a", 1]), NAMES, file="p.xlsx"),
    "an empty sheet": Case(workbook(), "the sheet is empty", file="p.xlsx"),
    "a sheet with a header alone": Case(workbook(["x"]), "the table has no rows", file="p.xlsx"),
    "a sheet that is not there": Case(workbook(["x"], ["a"]), "no such sheet", file="p.xlsx", part="#Other"),
    "a large number in a workbook": Case(workbook(["x"], [2**53]), file="p.xlsx", cells={"x": ["9007199254740992.0"]}),
    "no workbook": Case(b"PK", EXCEL, file="p.xlsx"),
    "an empty file called workbook": Case(b"", EXCEL, file="p.xlsx"),
    "an old workbook": Case(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), EXCEL, file="p.xlsx"),
    "a cut workbook": Case(cut_workbook, EXCEL, file="p.xlsx"),
    "an archive that is no workbook": Case(archive(a="b"), EXCEL, file="p.xlsx"),
    "an archive of nothing": Case(archive(), EXCEL, file="p.xlsx"),
    "an archive bomb": Case(archive(a=bytes((200 if FULL else 20) << 20)), "`reading.limits.expansion`", 4, "p.xlsx"),
    "a workbook that lies about its size": Case(lying_workbook, "`reading.limits.expansion`", 4, "p.xlsx"),
    "a cell far out": Case(
        changed_workbook(lambda text: text.replace(b"<c><v>1</v></c>", b'<c r="XFD1048576"><v>1</v></c>')),
        "`reading.limits.expansion`",
        4,
        "p.xlsx",
    ),
    "a sheet that is no XML": Case(changed_workbook(lambda text: text[:-30]), EXCEL, file="p.xlsx"),
    "a sheet with an entity": Case(
        changed_workbook(lambda text: text.replace(b"?>", ENTITY, 1).replace(b">a<", b">&e;<")),
        EXCEL,
        file="p.xlsx",
    ),
}


def database(*statements):
    def write(path):
        with duckdb.connect(str(path)) as con:
            for statement in statements:
                con.execute(statement)

    return write


def view_of_a_pipe(*statements):
    """A database whose views read a pipe that nobody writes to: who opens it waits for ever."""

    def write(path):
        other = path.with_name("other.csv")
        other.write_text("x\nSECRETCELL\n")
        database(*(statement.format(f"read_csv('{other}', header=true)") for statement in statements))(path)
        other.unlink()
        os.mkfifo(other)

    return write


VIEWS = "Views are not read"
DATABASES = {
    "a DuckDB table": Case(
        database("CREATE TABLE t AS SELECT 'a' AS x"), file="p.duckdb", part="#t", cells={"x": ["a"]}
    ),
    "a DuckDB file without a table": Case(database(), "It has none at all", file="p.duckdb", part="#t"),
    "a DuckDB file without a name": Case(
        database("CREATE TABLE t AS SELECT 'a' AS x"), "the name of the table is missing", file="p.duckdb"
    ),
    "a view that fails": Case(
        database("CREATE VIEW t AS SELECT v AS x FROM (VALUES ('SECRETCELL')) AS u(v) WHERE v::INTEGER > 0"),
        VIEWS,
        file="p.duckdb",
        part="#t",
    ),
    "a view of a table beside it": Case(
        database("CREATE TABLE stored AS SELECT 'a' AS x", "CREATE VIEW t AS FROM stored"),
        VIEWS,
        file="p.duckdb",
        part="#t",
    ),
    "a view that never ends": Case(
        database("CREATE VIEW t AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) FROM r"),
        VIEWS,
        file="p.duckdb",
        part="#t",
    ),
    "a view of another file": Case(
        view_of_a_pipe("CREATE VIEW t AS SELECT * FROM {}"), VIEWS, file="p.duckdb", part="#t"
    ),
    "a view of a file beside a table": Case(
        view_of_a_pipe("CREATE TABLE t AS SELECT 'a' AS x", "CREATE VIEW other AS SELECT * FROM {}"),
        file="p.duckdb",
        part="#t",
        cells={"x": ["a"]},
    ),
    "a view of whatever files there are": Case(
        view_of_a_pipe("CREATE VIEW t AS SELECT file AS x FROM glob('/etc/*')"), VIEWS, file="p.duckdb", part="#t"
    ),
    "a view in a schema": Case(
        database("CREATE SCHEMA s", "CREATE TABLE t AS SELECT 'a' AS x", "CREATE VIEW s.t AS FROM main.t"),
        VIEWS,
        file="p.duckdb",
        part="#s.t",
    ),
    "a table and a view that are called alike": Case(
        database("CREATE SCHEMA s", "CREATE VIEW s.t AS SELECT 'b' AS x", "CREATE TABLE \"s.t\" AS SELECT 'a' AS x"),
        file="p.duckdb",
        part="#s.t",
        cells={"x": ["a"]},
    ),
    "two tables that are called alike": Case(
        database("CREATE SCHEMA s", "CREATE TABLE s.t AS SELECT 'b' AS x", "CREATE TABLE \"s.t\" AS SELECT 'a' AS x"),
        "two tables of the file go by this name",
        file="p.duckdb",
        part="#s.t",
    ),
    "a macro that is called as a table": Case(
        database("CREATE MACRO t() AS TABLE SELECT 'SECRETCELL' AS x"),
        "It has none at all",
        file="p.duckdb",
        part="#t",
    ),
    "macros that are called as functions": Case(
        database("CREATE TABLE t AS SELECT 'a' AS x", "CREATE MACRO count() AS error('SECRETCELL')"),
        file="p.duckdb",
        part="#t",
        cells={"x": ["a"]},
    ),
    "a generated column": Case(
        database("CREATE TABLE t (y INTEGER, x INTEGER AS (y + 1))", "INSERT INTO t VALUES (1)"),
        "the table has generated columns",
        file="p.duckdb",
        part="#t",
    ),
    "a default that fails": Case(
        database("CREATE TABLE t (x TEXT DEFAULT error('SECRETCELL'))", "INSERT INTO t VALUES ('a')"),
        file="p.duckdb",
        part="#t",
        cells={"x": ["a"]},
    ),
    "a table that expands": Case(
        database("CREATE TABLE t AS SELECT 1 AS x, 1 AS y, 1 AS z FROM range(50000000)"),
        "`reading.limits.expansion`",
        4,
        "p.duckdb",
        part="#t",
    ),
    "no DuckDB file": Case(PLAIN, DATABASE, file="p.duckdb", part="#t"),
    "zero bytes called DuckDB": Case(bytes(20_000), DATABASE, file="p.duckdb", part="#t"),
}


def ring(path):
    path.symlink_to(path)


def long_ring(path):
    other = path.with_name("other.csv")
    other.symlink_to(path)
    path.symlink_to(other)


def linked(path):
    other = path.with_name("other.csv")
    other.write_text(PLAIN)
    path.symlink_to(other)


def listening(path):
    with socket.socket(socket.AF_UNIX) as opened:
        here = os.getcwd()  # noqa: PTH109 - a socket's path must be short
        os.chdir(path.parent)
        try:
            opened.bind(path.name)
        finally:
            os.chdir(here)


THINGS = {
    "a folder": Case(lambda path: path.mkdir(), "this is a folder, not a file"),
    "a pipe": Case(os.mkfifo, "this is a pipe, not a file"),
    "a socket": Case(listening, "this is a socket, not a file"),
    "a device": Case(lambda path: path.symlink_to("/dev/zero"), "this is a device, not a file"),
    "a link to itself": Case(ring, "this is a link that leads back to itself"),
    "two links to each other": Case(long_ring, "this is a link that leads back to itself"),
    "a link to nothing": Case(lambda path: path.symlink_to("none.csv"), "this is a link to a file that does not exist"),
    "a link to a file": Case(linked),
    "a pipe called Parquet": Case(os.mkfifo, "this is a pipe, not a file", file="p.parquet"),
    "a pipe called gzip": Case(os.mkfifo, "this is a pipe, not a file", file="p.csv.gz"),
    "a pipe called workbook": Case(os.mkfifo, "this is a pipe, not a file", file="p.xlsx"),
    "no file": Case(lambda path: None, "there is no such file"),
    "another kind of file": Case(PLAIN, "the file extension is not supported", file="p.txt"),
    "a file without an ending": Case(PLAIN, "the file extension is not supported", file="p"),
    "a name with a quote": Case(PLAIN, file="it's.csv"),
    "a name that is a pattern": Case(PLAIN, file="p[1]*?.csv"),
    "a name with a line end": Case(PLAIN, file="a\nb.csv"),
}

MANY = 100_000 if FULL else 10_001
CELL = 50_000_000 if FULL else 3_000_000
"""One cell of 50 MB; of three by default, which is still more than a record may have."""


def wide(columns):
    return "x," + ",".join(f"k{number}" for number in range(columns - 1)) + "\na" + ",1" * (columns - 1) + "\n"


def lines_in_a_cell(path):
    with path.open("w") as file:
        file.write('x,y\na,1\n"')
        for _ in range(CELL // 100):
            file.write("b" * 99 + "\n")
        file.write('",1\n')


def packed_cell(path):
    """A large cell that does not compress well."""
    letters = np.random.default_rng(1).bytes(CELL // 2).hex().encode()
    path.write_bytes(packed(b"x,y\na,1\n" + letters + b",1\n", compresslevel=1))


LARGE = {
    "very many columns": Case(lambda path: path.write_text(wide(MANY)), "`reading.limits.columns`", 4),
    "one large cell": Case(lambda path: path.write_text(f"x,y\na,1\n{'b' * CELL},1\n"), LONG),
    "one large cell in quotes": Case(lambda path: path.write_text(f'x,y\na,1\n"{"b" * CELL}",1\n'), LONG),
    "one large cell of many lines": Case(lines_in_a_cell, LONG),
    "one large cell in gzip": Case(packed_cell, LONG, file="p.csv.gz"),
    "one large cell in Latin-1": Case(
        lambda path: path.write_bytes(b"x,y\n\xeb,1\n" + b"b" * CELL + b",1\n"), LONG, reading={"encoding": "latin-1"}
    ),
    "one large name": Case(
        lambda path: path.write_text(f"x,{'b' * CELL}\na,1\n"), "the header is longer than two megabytes"
    ),
    "one line without an end": Case(
        lambda path: path.write_text("x" * CELL), "the header is longer than two megabytes"
    ),
    "a cell of a megabyte": Case(lambda path: path.write_text(f"x,y\na,1\n{'b' * 1_000_000},1\n")),
}

CASES = {
    **ENCODINGS,
    **QUOTING,
    **RAGGED,
    **NAMED,
    **MISSING,
    **FLOATS,
    **INTEGERS,
    **DATES,
    **GZIP,
    **PARQUETS,
    **WORKBOOKS,
    **DATABASES,
    **THINGS,
    **LARGE,
}
