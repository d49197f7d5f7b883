"""A page that can be handed over: one file, no script, no request to anywhere, made from a result alone.

Jinja2 escapes whatever comes from the data or the configuration; only pictures that `cvpl.charts` has drawn go in as
they are, and Vega has escaped the text in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cvpl.charts import Chart, Numbers, numbers, svg
from cvpl.charts.style import DARK
from cvpl.wording import CODE, percent, printable, sentence


@dataclass(frozen=True)
class Drawn:
    """A chart on a page: its picture, and its numbers."""

    svg: Markup
    numbers: Numbers


def drawn(chart: Chart | None) -> Drawn | None:
    """A chart as a page takes it."""
    return None if chart is None else Drawn(Markup(svg(chart)), numbers(chart))  # noqa: S704 - Vega has escaped it


def page(template: str, *, opened: bool = False, **context: Any) -> str:
    """A page from a template; with `opened` nothing is folded away, for paper."""
    made = _environment().get_template(template).render(style=_style(), opened=opened, **context)
    return made.replace("\r\n", "\n")


def _code(text: str) -> Markup:
    """Words to be typed as code, everything escaped first."""
    shown = str(escape(text)).replace(CODE[0], "<code>").replace(CODE[1], "</code>")
    return Markup(shown)  # noqa: S704 - escaped here


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("cvpl.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"percent": percent, "printable": printable, "sentence": sentence, "code": _code}
    return found


@cache
def _style() -> Markup:
    return Markup(_environment().get_template("style.css").render(dark_colours=list(DARK.items())))  # noqa: S704 - ours
