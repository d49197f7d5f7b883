"""The docs keep up with the product: every rule, field, key and option is named, and every link leads somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cvpl import schemas
from cvpl.cli.main import app
from cvpl.config.attackers import FAMILY
from cvpl.evaluation.contradictions import RULES, AuditWarning
from cvpl.evaluation.policy import PRESETS
from cvpl.workflows.made_tables import CONFIG

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), TOP / "README.md"])
SCHEMAS = Path(schemas.__file__).parent
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def text(page: Path) -> str:
    """A page without its code, in which a sharp sign is a comment and brackets are lists."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def headings(page: Path) -> list[str]:
    return [line.lstrip("#").strip() for line in text(page).splitlines() if re.match(r"#{1,6} ", line)]


def anchor(heading: str) -> str:
    """What GitHub makes of a heading: lower case, blanks as hyphens, no other sign but letters, digits, - and _."""
    without_links = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", without_links.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """All anchors of a page; a heading that stands twice has a number the second time."""
    found: list[str] = []
    for heading in headings(page):
        plain = anchor(heading)
        times = sum(item == plain or re.fullmatch(rf"{re.escape(plain)}-\d+", item) is not None for item in found)
        found.append(plain if not times else f"{plain}-{times}")
    return set(found)


def links(page: Path) -> Iterator[tuple[str, str]]:
    """The relative links of a page: the file (empty for the page itself) and the anchor (empty for none)."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if "://" not in target and not target.startswith("mailto:"):
            file, _, place = target.partition("#")
            yield file, place


def schema_keys(name: str) -> list[str]:
    return list(json.loads((SCHEMAS / name).read_text(encoding="utf-8"))["properties"])


def options() -> list[tuple[str, str]]:
    """Every command and long option of the command line."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return [
        (name, option)
        for name, command in commands.items()
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and option != "--help"
    ]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("few_records", "few_records"),
        ("cvpl audit ORIGINAL PROTECTED", "cvpl-audit-original-protected"),
        ("Setting people aside: `cvpl split`", "setting-people-aside-cvpl-split"),
        ("k, counted by another", "k-counted-by-another"),
        ("inputs.original, inputs.control", "inputsoriginal-inputscontrol"),
    ],
)
def test_an_anchor_is_made_as_on_the_page(heading: str, expected: str) -> None:
    assert anchor(heading) == expected


def test_every_rule_has_its_section_and_every_section_a_rule() -> None:
    page = DOCS / "concepts" / "warnings.md"
    sections = [line[3:].strip() for line in text(page).splitlines() if line.startswith("## ")]
    assert sorted(sections) == sorted(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_warning_points_to_a_section_that_is_there(rule: str) -> None:
    file, _, place = AuditWarning(rule, "").docs.partition("#")
    assert place in anchors(TOP / file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = []
    for file, place in links(page):
        target = page if not file else (page.parent / file).resolve()
        if not target.exists() or (place and target.suffix == ".md" and place not in anchors(target)):
            broken.append(f"{file}#{place}" if place else file)
    assert not broken


def edits() -> list[tuple[str, str]]:
    """Every `sed 's/OLD/NEW/'` by which a page changes a configuration of the demo, once."""
    found = [
        item for page in PAGES for item in re.findall(r"^sed 's/\^(.+)/(.+)/' ", page.read_text("utf-8"), re.MULTILINE)
    ]
    return sorted(set(found))


@pytest.mark.parametrize(("old", "new"), edits())
def test_an_edit_that_a_page_shows_finds_its_line_in_the_demo_s_configuration(old: str, new: str) -> None:
    """Else `sed` would change nothing, and the reader would audit another attacker than the page says."""
    assert sum(line.startswith(old) for line in CONFIG.splitlines()) == 1
    assert new not in CONFIG


def test_pages_show_such_edits() -> None:
    assert ("attacker: default", "attacker: paper") in edits()


@pytest.mark.parametrize("field", schema_keys("result.json"))
def test_every_field_of_a_result_stands_in_the_reference(field: str) -> None:
    assert f"| `{field}` |" in text(DOCS / "reference" / "result.md")


def comparison_fields() -> list[str]:
    """The fields of a comparison, of its releases and of its differences."""
    schema = json.loads((SCHEMAS / "comparison.json").read_text(encoding="utf-8"))
    parts = [schema, *(schema["$defs"][name] for name in ("ComparedRelease", "PairedDifference"))]
    return sorted({field for part in parts for field in part["properties"]})


@pytest.mark.parametrize("field", comparison_fields())
def test_every_field_of_a_comparison_stands_in_its_section(field: str) -> None:
    (section,) = re.findall(r"^## comparison\.json.*", text(DOCS / "reference" / "result.md"), re.MULTILINE | re.DOTALL)
    assert re.search(rf"^\|[^|]*`{field}`[^|]*\|", section, re.MULTILINE)


@pytest.mark.parametrize("key", schema_keys("config.json"))
def test_every_key_of_the_configuration_stands_in_the_reference(key: str) -> None:
    assert f"| `{key}` |" in text(DOCS / "reference" / "configuration.md")


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_stands_in_its_command_s_section(command: str, option: str) -> None:
    page = text(DOCS / "reference" / "command-line.md")
    (section,) = re.findall(rf"^## cvpl {command}\b.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert re.search(rf"`{option}(?![\w-])", section)


@pytest.mark.parametrize("member", FAMILY)
def test_every_member_of_the_family_is_explained(member: str) -> None:
    assert f"| `{member}` |" in text(DOCS / "concepts" / "attackers.md")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_explained(preset: str) -> None:
    assert f"| `{preset}` |" in text(DOCS / "concepts" / "policy.md")


def benchmark_fields() -> list[str]:
    """The fields of a benchmark and of its rows."""
    schema = json.loads((SCHEMAS / "benchmark.json").read_text(encoding="utf-8"))
    parts = [schema, schema["$defs"]["BenchmarkRow"]]
    return sorted({field for part in parts for field in part["properties"]})


@pytest.mark.parametrize("field", benchmark_fields())
def test_every_field_of_a_benchmark_stands_in_its_section(field: str) -> None:
    (section,) = re.findall(r"^## benchmark\.json.*", text(DOCS / "reference" / "result.md"), re.MULTILINE | re.DOTALL)
    assert re.search(rf"^\|[^|]*`{field}`[^|]*\|", section, re.MULTILINE)


def manifest_keys() -> list[str]:
    """What a manifest has beyond an audit.yaml, and what a release has."""
    schema = json.loads((SCHEMAS / "manifest.json").read_text(encoding="utf-8"))
    own = set(schema["properties"]) - set(schema_keys("config.json"))
    return sorted(own | set(schema["$defs"]["ReleaseConfig"]["properties"]))


@pytest.mark.parametrize("key", manifest_keys())
def test_every_key_of_a_manifest_stands_in_the_reference(key: str) -> None:
    assert f"| `{key}` |" in text(DOCS / "reference" / "manifest.md")


@pytest.mark.parametrize("field", schema_keys("surface.json"))
def test_every_field_of_a_surface_stands_in_the_reference(field: str) -> None:
    page = text(DOCS / "reference" / "result.md")
    section = page[page.index("| Field of surface.json |") : page.index("| Field of a setting |")]
    assert f"| `{field}` |" in section


@pytest.mark.parametrize("field", schema_keys("trial.json"))
def test_every_field_of_a_trial_stands_in_the_reference(field: str) -> None:
    page = text(DOCS / "reference" / "result.md")
    assert f"| `{field}` |" in page[page.index("| Field of trial.json |") :]
