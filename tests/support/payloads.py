"""Markup, formulas and templates that names, labels and settings may hold, and a page seen without its text."""

from __future__ import annotations

import io
import re

import html5lib
import pytest
from rich.console import Console

from cvpl import charts
from cvpl.reports.terminal import show
from examples import TIMES

MARKUP = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</svg><script>alert(1)</script>",
    "</text><script>alert(1)</script>",
    "</td></tr></table><h1>x</h1>",
    "</pre></details><h1>x</h1>",
    "<!--",
    "-->",
    "<!-- x --><b>",
    "]]>",
    "<![CDATA[x]]>",
    "<b>bold</b>",
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe src=//example.org>",
    "<object data=x>",
    "<embed src=x>",
    "<link rel=stylesheet href=//example.org>",
    "<meta http-equiv=refresh content='0;url=//example.org'>",
    "<base href=//example.org>",
    "<form action=//example.org><input>",
    "<math><mi xlink:href=javascript:alert(1)>x",
    "<template><script>alert(1)</script></template>",
    "<details open ontoggle=alert(1)>",
    "<body onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<use href=#x>",
    "<foreignObject><script>alert(1)</script></foreignObject>",
    "<p",
    "<",
    ">",
    "&",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "&amp;lt;b&amp;gt;",
    "&nbsp;&copy",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    "` onmouseover=`alert(1)",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "\x00<b>",
    "\x1b[31mred",
    "a\nb\r\nc",
    "\u202egnp.exe",
    "\u2028x\u2029y",
    "\ufeffx",
    "é 漢字 😀",
    "x" * 400,
    " ",
]
FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://example.org")',
    "+1",
    "-1",
    "@SUM(A1)",
    "=cmd|' /C calc'!A0",
    "%00",
    "../../etc/passwd",
    "datum.x",
    "datum['x']",
    "a.b[0]",
    "a\\.b",
    '{"signal": "width"}',
    '{"expr": "1+1"}',
    "now()",
]
TEMPLATES = [
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{# x #}",
    "{{ result.__class__.__mro__ }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "%s %d %(x)s",
    "{0} {name}",
    "`code` **bold** [x](y) | cell",
    "@everyone #1",
]
UNSEEN = "\u202e\u202a\u2066\u2069\u200e\u061c\u200b\u115f\u3164\ufe0f\u034f\u2800\U000e0041\x9b"
"""Signs that set the direction of text, or have no shape."""
PAYLOADS = [*MARKUP, *FORMULAS, *TEMPLATES]
IN_CHARTS = [
    "<script>alert(1)</script>",
    "</svg><script>alert(1)</script>",
    "</text><script>alert(1)</script>",
    "<!--",
    "<![CDATA[x]]>",
    "]]>",
    "<foreignObject><script>alert(1)</script></foreignObject>",
    "<",
    "&lt;script&gt;",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "\x00<b>",
    "a\nb\r\nc",
    "x" * 400,
    "datum.x",
    "{{ 7 * 7 }}",
]
"""One of each kind that a picture could take for something else. A page with its charts takes a second to draw, so only
these are tried with them; all payloads are tried as labels of one chart, and on pages without."""
HANDS = {"audit": 0, "comparison": 1, "surface": 2, "benchmark": 0}
"""Which third of the payloads a page gets in a usual run: together the pages get all of them."""


def dealt(page, payloads):
    """The payloads of a page, with their numbers: a third, or in a full run all."""
    numbered = [pytest.param(payload, id=str(at)) for at, payload in enumerate(payloads)]
    return numbered if TIMES > 1 else numbered[HANDS[page] :: 3]


def leave_out_charts(monkeypatch):
    """Pages as they are where nothing can be drawn."""
    for name in set(charts.__all__) - {"Chart", "Drawing", "ChartText", "drawing", "numbers", "png", "svg"}:
        monkeypatch.setattr(charts, name, lambda *arguments: None)


def unseen_in(result):
    """The outputs of a result in which a sign of `UNSEEN` is left, charts included."""
    screen = Console(width=100, file=io.StringIO(), highlight=False)
    show(result, screen)
    outputs = {
        "page": result.to_html(),
        "markdown": result.to_markdown().replace("@\u200b", ""),  # ours, against mentions
        "terminal": screen.file.getvalue(),
        "notebook": result._repr_html_() + result._repr_markdown_().replace("@\u200b", ""),
        "json": result.to_json(),
    }
    drawn = {name: result.chart(name) for name in result.chart_names()}
    outputs |= {name: chart._repr_html_() for name, chart in drawn.items() if chart is not None}
    return [name for name, text in outputs.items() if set(text) & set(UNSEEN)]


def elements(page):
    """The elements of a parsed page in their order, each with the names of its attributes."""
    document = html5lib.parse(page, namespaceHTMLElements=False)
    return [(item.tag, sorted(item.attrib)) for item in document.iter() if isinstance(item.tag, str)]


def tags_of(page):
    """The tags alone, without the text between them, and without the values of their attributes."""
    return re.sub(r'"[^"]*"', "", "".join(re.findall(r"<[a-zA-Z/!][^>]*>", page)))


OBEYED = re.compile(r"<script|\son\w+=[\"'a]")
"""What no tag may hold."""


def same_markdown(text, plain):
    """Whether, outside of code and escapes, a Markdown text has no tag, link, mention or cell that another lacks."""
    bare, plain_bare = _bare(text), _bare(plain)
    signs = ("<", "|", "](", "\n", "**", "`")
    return all(bare.count(sign) == plain_bare.count(sign) for sign in signs) and not re.search(r"@\w", bare)


def _bare(text):
    """Markdown without code blocks, code spans and escaped signs."""
    text = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", text)
    text = re.sub(r"\\[^\w\s]", "", text)
    return re.sub(r"(?s)(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", text)
