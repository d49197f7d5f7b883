"""A headless Chromium for the pages; tests that need it are skipped, with the reason, on a machine without one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from cvpl.reports.files import BROWSERS
from examples import TIMES

CHROMIUM = next((found for name in BROWSERS if (found := shutil.which(name))), None)
NO_BROWSER = "there is no Chromium on this machine"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NO_BROWSER)
SIZES = (1280, 390)
SCHEMES = ("light", "dark")
HEIGHT = 900


def views(names, dark):
    """The page, width and scheme of every look at a page: the one named `dark` in all, the others small and light.

    Colours move nothing, and what fits a small window fits a large one, so only a full run looks at all of them.
    """
    every = [(name, width, scheme) for name in names for width in SIZES for scheme in SCHEMES]
    return [view for view in every if TIMES > 1 or view[0] == dark or view[1:] == (SIZES[-1], SCHEMES[0])]


def schemes(both):
    """The colour schemes to look at: light, and dark if asked for or in a full run."""
    return SCHEMES if both or TIMES > 1 else SCHEMES[:1]


def schemes_for_axe(usual):
    """The colour schemes in which axe reads a page: the usual one of the file, or both in a full run."""
    return SCHEMES if TIMES > 1 else (usual,)


OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg.chart')) {
    const boxes = [...svg.querySelectorAll('text')].filter(it => it.textContent.trim())
      .map(it => [it.textContent, it.getBoundingClientRect()]);
    for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
      const [a, one] = boxes[i], [b, two] = boxes[j];
      const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
      const high = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
      if (wide > 1 && high > 3) found.push(a + ' | ' + b);
    }
  }
  return found;
}"""
"""Labels of a chart that lie on each other; lines of text may touch by the height of their accents."""
BEYOND = """() => [...document.querySelectorAll('svg.chart text')].filter(it => {
  const box = it.getBoundingClientRect();
  return box.width && (box.left < 0 || box.right > innerWidth);
}).map(it => it.textContent)"""
"""Labels that leave the window."""

TEXT_SIZES = """() => [...new Set([...document.querySelectorAll('svg.chart:not(.ruler) text')].map(it => {
  const m = it.getScreenCTM();
  return (parseFloat(getComputedStyle(it).fontSize) * Math.hypot(m.c, m.d)).toFixed(1);
}))]"""
"""The sizes of the text in charts as they appear, in pixels."""
CONTRASTS = """() => {
  const parts = colour => (colour.match(/[0-9.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const page = light(parts(getComputedStyle(document.body).backgroundColor));
  const against = colour => { const own = light(parts(colour));
    return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05); };
  const found = [];
  for (const it of document.querySelectorAll('svg.chart text, svg.chart [fill], svg.chart [stroke]')) {
    const style = getComputedStyle(it), text = it.tagName === 'text';
    if (it.closest('defs, clipPath') || Math.min(style.opacity, style.fillOpacity) < 0.5) continue;
    for (const side of text ? ['fill'] : ['fill', 'stroke']) {
      const colour = style[side];
      if (!it.hasAttribute(side) || !colour.startsWith('rgb(')) continue;
      found.push([text ? 'text' : 'mark', it.getAttribute(side), against(colour)]);
    }
  }
  return found;
}"""
"""The contrast of every text and mark of a chart with the page, with the colour as it is written."""


class Look(NamedTuple):
    """How a page is seen: the width of its window, the colour scheme, and on a screen or in print."""

    width: int
    scheme: str
    media: str


@dataclass
class OpenPage:
    """An open page, how it is seen, and what it asked for or complained of."""

    page: object
    look: Look | None = None
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def show(self, look: Look) -> None:
        """Give the window another width, scheme or medium."""
        self.page.set_viewport_size({"width": look.width, "height": HEIGHT})
        self.page.emulate_media(color_scheme=look.scheme, media=look.media)
        self.look = look


@pytest.fixture(scope="module")
def chromium():
    """One browser for a file of tests."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        _KEPT.clear()
        browser.close()


_KEPT: dict[str, OpenPage] = {}
"""The open pages of the browser by file: to open one takes longer than most looks at it."""


@contextmanager
def opened(
    browser, file, width: int = 1280, scheme: str = "light", *, media: str = "screen", alone: bool = False
) -> Iterator[OpenPage]:
    """The page in a window of this width and colour scheme, or in print.

    Requests other than for itself are refused and noted. It stays open for the tests that follow: its window takes
    their widths and schemes, and in a full run each of these has a window of its own. A test that changes the page has
    one of its own, `alone`.
    """
    look = Look(width, scheme, media)
    view = f"{file} {look}" if TIMES > 1 else str(file)
    seen = None if alone else _KEPT.get(view)
    if seen is None:
        seen = _open(browser, file, look)
    elif seen.look != look:
        seen.show(look)
    if not alone:
        _KEPT[view] = seen
    yield seen
    if alone:
        seen.page.context.close()


@contextmanager
def unfolded(page) -> Iterator[None]:
    """A page with everything open that it folds away; afterwards as before."""
    before = page.evaluate("[...document.querySelectorAll('details')].map(it => it.open)")
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    try:
        yield
    finally:
        page.evaluate("all => document.querySelectorAll('details').forEach((it, at) => { it.open = all[at]; })", before)


def _open(browser, file, look: Look) -> OpenPage:
    page = browser.new_context().new_page()
    seen = OpenPage(page)
    seen.show(look)

    def on_request(route):
        if route.request.url == file.as_uri():
            route.continue_()
        else:
            seen.requests.append(route.request.url)
            route.abort()

    page.route("**/*", on_request)
    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.goto(file.as_uri())
    return seen


def check(browser, file, width: int, scheme: str) -> None:
    """No request leaves, no complaint, no horizontal scrolling, no labels on each other or beyond the window."""
    with opened(browser, file, width, scheme) as seen:
        assert seen.requests == [] and seen.complaints == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.page.evaluate(OVERLAPS) == []
        assert seen.page.evaluate(BEYOND) == []
        assert seen.page.locator("script").count() == 0


LATER_ROWS = "tbody > tr:nth-child(n + 4)"
"""The rows of a table below its first three, which look like them."""
SHOW = "([parts, way]) => document.querySelectorAll(parts).forEach(it => { it.style.display = way; })"


def serious_faults(browser, file, scheme: str, width: int = 1280, *, unseen: str = LATER_ROWS) -> list[str]:
    """What axe-core finds to be serious or worse. Only a full run looks at the parts that are named in `unseen`."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 - only where there is a browser

    with opened(browser, file, width, scheme) as seen:
        if TIMES == 1:
            seen.page.evaluate(SHOW, [unseen, "none"])
        found = Axe().run(seen.page).response["violations"]
        seen.page.evaluate(SHOW, [unseen, ""])
    return [f"{item['id']}: {item['nodes'][0]['html']}" for item in found if item["impact"] in ("serious", "critical")]
