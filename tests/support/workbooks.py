"""Small Excel workbooks, written without a library."""

import zipfile
from datetime import date, datetime, timedelta
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def cell(value):
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    if isinstance(value, date):
        time = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        return f'<c s="1"><v>{(time - datetime(1899, 12, 30)) / timedelta(days=1)}</v></c>'
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def link(name, kind, target):
    return f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"/>'


def write_workbook(path, sheets):
    """Write sheets, given as rows of cells by their names."""
    listed = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(sheets, 1))
    links = "".join(link(f"r{at}", "worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(sheets) + 1))
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{TYPES}"><Default Extension="xml" ContentType="application/xml"/></Types>'
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{LINKS}">{link("r", "officeDocument", "xl/workbook.xml")}</Relationships>'
        ),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{LINKS}">{links}{link("rs", "styles", "styles.xml")}</Relationships>'
        ),
        "xl/styles.xml": (
            f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
            "</styleSheet>"
        ),
    }
    for at, rows in enumerate(sheets.values(), 1):
        cells = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{at}.xml"] = f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, f'<?xml version="1.0"?>{text}')
    return path
