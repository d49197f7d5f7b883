"""Files that are hardly YAML, or no configuration, are refused with their place; none is a fault of the program."""

import os
import time
from pathlib import Path

import pytest

from cvpl.attack.saved_projection import load_projection
from cvpl.cli.main import run
from cvpl.config.loading import load, read_policy
from cvpl.config.manifest import read_manifests
from cvpl.errors import InputError
from cvpl.operators.vectorization.vectors import FeatureSpace
from cvpl.result.file import read_any, read_result
from cvpl.tables.meaning.labels import read_hierarchy

COLUMNS = "columns: {age: {role: attribute, type: numeric}}\nattacker: paper\n"
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{here}: &{here} [{', '.join([f'*{above}'] * 10)}]\n" for above, here in zip("abcdefgh", "bcdefghi", strict=True)
)

# what is put behind the columns, and a part of the answer
ODD = {
    "a day that is none": (
        "seed: 2024-13-45\n",
        "looks like a day, a time or a number (line 3, column 7)",
    ),
    "a time that is none": ("seed: 2024-01-01 99:99:99\n", "(line 3, column 7)"),
    "a list as a name": ("? [a, b]\n: 1\n", "a list or a mapping is used as a name (line 3, column 3)"),
    "a mapping as a name": ("? {a: b}\n: 1\n", "a list or a mapping is used as a name (line 3, column 3)"),
    "too many digits": (f"seed: {'1' * 5000}\n", "(line 3, column 7)"),
    "many digits": (f"seed: {'1' * 4000}\n", "`seed`"),
    "a number in base 60": ("seed: 9:99:99:99999999999\n", "`seed`"),
    "nested lists": (f"seed: {'[' * 500}{']' * 500}\n", "nested more than 50 deep (line 3, column"),
    "nested mappings": ("seed: " + "{a: " * 500 + "1" + "}" * 500 + "\n", "nested more than 50 deep (line 3, column"),
    "anchors that expand": (LAUGHS, "more than 200,000 values (line "),
    "an anchor in itself": ("seed: &a [*a]\n", "stands for what contains it (line 3, column 7)"),
    "a tag of Python": ("seed: !!python/object/apply:os.system [ls]\n", "is not YAML (line 3, column 7)"),
    "a tag that is unknown": ("seed: !mine 5\n", "is not YAML (line 3, column 7)"),
    "a tag that does not fit": ("seed: !!float abc\n", "(line 3, column 7)"),
    "a whole number that is none": ("seed: !!int abc\n", "(line 3, column 7)"),
    "a truth that is none": ("seed: !!bool abc\n", "(line 3, column 7)"),
    "a mapping that is none": ("seed: !!map abc\n", "(line 3, column 7)"),
    "binary that is none": ("seed: !!binary x\n", "(line 3, column 7)"),
    "a set": ("seed: !!set {a, b}\n", "`seed`"),
    "not a number": ("seed: .nan\n", "`seed`"),
    "infinity": ("threshold: .inf\n", "`threshold`"),
    "a number as a name": ("5: 1\n", "5"),
    "nothing as a name": ("null: 1\n", ""),
    "a day as a name": ("2024-01-01: 1\n", ""),
    "two documents": ("---\nseed: 1\n", "is not YAML (line 3, column 1)"),
    "a zero byte": ("seed: \0\n", "is not YAML"),
    "a lone surrogate": ('seed: "\\ud800"\n', "`seed`"),
    "a merge of nothing": ("<<: 5\n", "(line 3, column "),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_refused_with_its_place(tmp_path, capsys, name):
    more, answer = ODD[name]
    path = tmp_path / "audit.yaml"
    path.write_text(COLUMNS + more)
    with pytest.raises(InputError) as caught:
        load(path)
    assert answer in str(caught.value)
    table = tmp_path / "t.csv"
    table.write_text("age\n1\n2\n")
    assert run(["audit", str(table), str(table), "--config", str(path)]) == 3
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["configuration", "manifest", "policy"])
def test_only_files_of_some_size_are_read(tmp_path, kind):
    """A pipe would be waited for, and a device has no end."""
    read = {"configuration": load, "manifest": lambda path: read_manifests([path]), "policy": read_policy}[kind]
    pipe, ring, large, gone = (tmp_path / name for name in ("pipe", "ring", "large", "gone"))
    os.mkfifo(pipe)
    ring.symlink_to(ring)
    gone.symlink_to(tmp_path / "nothing")
    with large.open("wb") as file:
        file.truncate((10 << 20) + 1)
    answers = {
        pipe: "this is a pipe, not a file",
        ring: "this is a link that leads back to itself",
        gone: "this is a link to a file that does not exist",
        large: "is larger than 10 MB",
        tmp_path / "none": "there is no such file",
        "/dev/zero": "this is a device, not a file",
    } | ({tmp_path: "this is a folder, not a file"} if kind != "manifest" else {})
    for path, answer in answers.items():
        began = time.monotonic()
        with pytest.raises(InputError, match=f"the {kind} .*{answer}"):
            read(path)
        assert time.monotonic() - began < 1


@pytest.mark.parametrize("kind", ["result", "hierarchy file", "saved projection"])
def test_other_files_are_no_pipes_or_devices_either(tmp_path, kind):
    readers = {
        "result": [read_any, read_result],
        "hierarchy file": [read_hierarchy],
        "saved projection": [lambda path: load_projection(str(path), FeatureSpace((), 0))],
    }
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in readers[kind]:
        for path, answer in {pipe: "a pipe", Path("/dev/zero"): "a device"}.items():
            with pytest.raises(InputError, match=f"the {kind} cannot be opened: this is {answer}, not a file"):
                read(path)


def test_components_have_a_bound(tmp_path):
    path = tmp_path / "audit.yaml"
    for projection, allowed in {"random": "from 1 to 2,000", "umap": "from 2 to 100"}.items():
        path.write_text(
            f"columns: {{age: {{role: attribute, type: numeric}}}}\n"
            f"attacker: {{projection: {{{projection}: {{components: 20000}}}}}}\n"
        )
        with pytest.raises(InputError, match=f"components`: input should be {allowed}"):
            load(path)


def test_a_link_to_a_file_is_read(tmp_path):
    (tmp_path / "audit.yaml").write_text(COLUMNS)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "audit.yaml")
    assert load(tmp_path / "link.yaml").declared == ("age",)
