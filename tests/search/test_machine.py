"""Memory and cores: what the machine has, and less where a container or a batch job may use less."""

from __future__ import annotations

import os

import pytest

from cvpl.search.machine import Budget, usable_cores, usable_memory, usual_memory

MACHINE_MEMORY, MACHINE_CORES = 64 << 30, 16


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine of known size, whatever the tests run on."""
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": MACHINE_MEMORY // 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    monkeypatch.setattr(os, "cpu_count", lambda: MACHINE_CORES)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(MACHINE_CORES)), raising=False)


def limited(root, own, files):
    """Files below `root`: the groups of this process, and limits by the path of their file among the groups."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(own, encoding="utf-8")
    for name, text in files.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("own", "files", "memory", "cores"),
    [
        ("0::/\n", {"memory.max": 2 << 30, "cpu.max": "150000 100000"}, 2 << 30, 2),
        ("0::/\n", {"memory.max": "max", "cpu.max": "max 100000"}, MACHINE_MEMORY, MACHINE_CORES),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": 3 << 30, "a/cpu.max": "300000 100000"}, 3 << 30, 3),
        ("0::/a/b\n", {"a/b/memory.max": 1 << 30, "a/memory.max": 3 << 30}, 1 << 30, MACHINE_CORES),
        ("0::/seen/from/outside\n", {"memory.max": 5 << 30, "cpu.max": "50000 100000"}, 5 << 30, 1),
        (
            "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n",
            {
                "memory/job/memory.limit_in_bytes": 4 << 30,
                "memory/memory.limit_in_bytes": 9223372036854771712,
                "cpu,cpuacct/job/cpu.cfs_quota_us": 400000,
                "cpu,cpuacct/job/cpu.cfs_period_us": 100000,
                "cpu,cpuacct/cpu.cfs_quota_us": -1,
                "cpu,cpuacct/cpu.cfs_period_us": 100000,
            },
            4 << 30,
            4,
        ),
        (
            "3:cpu,cpuacct:/docker/outside\n",
            {"cpu/cpu.cfs_quota_us": 250000, "cpu/cpu.cfs_period_us": 100000},
            MACHINE_MEMORY,
            3,
        ),
        ("0::/\n", {"memory.max": "not a number", "cpu.max": ""}, MACHINE_MEMORY, MACHINE_CORES),
        ("nonsense\n\n", {}, MACHINE_MEMORY, MACHINE_CORES),
        ("5:memory:/other\n", {"cpu.max": "100000 100000"}, MACHINE_MEMORY, MACHINE_CORES),
    ],
    ids=[
        "version 2",
        "no limit",
        "a group around",
        "the tightest",
        "path from outside",
        "version 1",
        "version 1, path from outside",
        "unreadable",
        "no groups",
        "another resource",
    ],
)
def test_the_tightest_limit_of_the_control_groups_counts(tmp_path, own, files, memory, cores):
    root = limited(tmp_path, own, files)
    assert (usable_memory(root), usable_cores(root)) == (memory, cores)


def test_without_control_groups_the_machine_counts(tmp_path):
    assert (usable_memory(tmp_path), usable_cores(tmp_path)) == (MACHINE_MEMORY, MACHINE_CORES)


def test_cores_that_the_process_is_kept_from_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5, 7}, raising=False)
    assert usable_cores(tmp_path) == 3


def test_a_system_that_says_nothing_has_one_core_and_unknown_memory(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert (usable_memory(tmp_path), usable_cores(tmp_path)) == (None, 1)


def test_the_budget_keeps_within_what_may_be_used(monkeypatch):
    monkeypatch.setattr("cvpl.search.machine.usable_memory", lambda: 4 << 30)
    monkeypatch.setattr("cvpl.search.machine.usable_cores", lambda: 3)
    assert (Budget().memory, Budget().workers) == (3 << 30, 3)
    assert Budget(threads=5).workers == 5
    monkeypatch.setattr("cvpl.search.machine.usable_memory", lambda: None)
    assert usual_memory() == 4 << 30
