"""Write the software bill of materials (SBOM) that a wheel carries: what cvpl needs, from the lock, as CycloneDX 1.6.

    python requirements/sbom.py

It has every package that an installation without extras brings, with its locked version, the hashes of its files and
what it needs in turn. Equal locks give equal bytes.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LOCK, PROJECT, SBOM = HERE / "dev.txt", HERE.parent / "pyproject.toml", HERE / "cvpl.cdx.json"

_PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NEEDED_BY = re.compile(r"#(?: via)?\s+([\w.-]+)")
_NAME = re.compile(r"[\w.-]+")


@dataclass
class Pinned:
    """A package of the lock: its version, the hashes of its files, and the packages that need it."""

    name: str
    version: str
    hashes: list[str] = field(default_factory=list)
    needed_by: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        """The package URL, which also serves as the reference within the document."""
        return f"pkg:pypi/{self.name}@{self.version}"

    def component(self) -> dict[str, Any]:
        """The package as a component of the document."""
        return {
            "type": "library",
            "bom-ref": self.purl,
            "name": self.name,
            "version": self.version,
            "purl": self.purl,
            "properties": [{"name": "cvpl:sha256", "value": value} for value in self.hashes],
        }


def locked(text: str) -> list[Pinned]:
    """The packages of a lock; one with two versions, for different Pythons, is there twice."""
    found: list[Pinned] = []
    for line in text.splitlines():
        if pinned := _PINNED.match(line):
            found.append(Pinned(normal(pinned["name"]), pinned["version"]))
        elif hashed := _HASH.search(line):
            found[-1].hashes.append(hashed[1])
        elif needed := _NEEDED_BY.search(line):
            found[-1].needed_by.append(normal(needed[1]))
    return found


def normal(name: str) -> str:
    """The normal form of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def document() -> dict[str, Any]:
    """The bill of materials of the present lock."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    packages = locked(LOCK.read_text(encoding="utf-8"))
    direct = {normal(_NAME.match(item)[0]) for item in project["dependencies"]}  # type: ignore[index]
    names, waiting = set(direct), list(direct)
    while waiting:
        parent = waiting.pop()
        more = {item.name for item in packages if parent in item.needed_by} - names
        names |= more
        waiting += more
    components = sorted((item for item in packages if item.name in names), key=lambda item: item.purl)
    itself = f"pkg:pypi/{project['name']}@{project['version']}"
    needs = {itself: [item.purl for item in components if item.name in direct]}
    needs |= {item.purl: [other.purl for other in components if item.name in other.needed_by] for item in components}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": itself,
                "name": project["name"],
                "version": project["version"],
                "purl": itself,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [item.component() for item in components],
        "dependencies": [{"ref": ref, "dependsOn": on} for ref, on in needs.items()],
    }


def text() -> str:
    """The document as written."""
    return json.dumps(document(), indent=1) + "\n"


if __name__ == "__main__":
    SBOM.write_text(text(), encoding="utf-8")
