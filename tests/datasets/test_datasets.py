"""Public data sets: local copies, and files fetched from a server on this machine; no test asks another one."""

from __future__ import annotations

import csv
import gzip
import hashlib
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

import cvpl
from cvpl import datasets
from cvpl.config.loading import load as load_config
from cvpl.datasets import described
from cvpl.datasets.fetching import fetch
from cvpl.datasets.loading import FOLDER_VARIABLE, data_folder, load
from cvpl.errors import InputError
from cvpl.tables.pair import read_inputs
from examples import TIMES, examples_apart
from shared_data import SHARED, needs_data

CONTENT = b"".join(b"%d, State-gov, %d\n" % (age, 3 * age) for age in range(20, 90))
LINKAGE_ALONE = {"canaries": False, "sensitivity": False, "singling_out": False, "inference": False}
"""An audit that asks whether people are linked, and nothing else."""
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ALL = {
    "adult": (datasets.adult, described.ADULT),
    "german_credit": (datasets.german_credit, described.GERMAN_CREDIT),
    "stroke": (datasets.stroke, described.STROKE),
    "nist_ma": (datasets.nist_ma, described.NIST_MA),
    "adult_study": (datasets.adult_study, described.ADULT_STUDY),
}


class Server(HTTPServer):
    """Answers with what a test wants, and notes what it was asked."""

    content = CONTENT
    status = 200
    declared: int | None = None
    location: str | None = None
    asked: list[str]

    def address(self, name="adult.data"):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        self.send_response(302 if server.location else server.status)
        if server.location:
            self.send_header("Location", server.location)
        if server.declared != 0:
            self.send_header("Content-Length", str(len(server.content) if server.declared is None else server.declared))
        self.end_headers()
        self.wfile.write(server.content)

    def log_message(self, *_args):
        pass


@contextmanager
def serving(**answer):
    server = Server(("127.0.0.1", 0), Answer)
    server.asked = []
    for name, value in answer.items():
        setattr(server, name, value)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    """The server stands on this machine."""
    monkeypatch.setenv("no_proxy", "*")


def fetched(address, target, **known):
    fetch(address, target, **{"sha256": SHA256, "size": len(CONTENT), "schemes": ("http", "https"), **known})


def refusal(address, target, **known):
    """The one problem of a file that is not kept; nothing is left where it would have been."""
    with pytest.raises(InputError) as caught:
        fetched(address, target, **known)
    assert not target.parent.exists() or list(target.parent.iterdir()) == []
    (problem,) = caught.value.problems
    assert problem.cure.endswith(f" put it at {target}.") and "127.0.0.1, adult.data" in problem.where
    assert f"ownload {address} by hand" in problem.cure or "another copy" in problem.cure
    return problem.what


def test_the_right_file_is_kept_as_it_is(tmp_path):
    target = tmp_path / "new" / "adult.data"
    with serving() as server:
        fetched(server.address(), target)
        assert server.asked == ["/adult.data"]
    assert target.read_bytes() == CONTENT
    assert [file.name for file in target.parent.iterdir()] == ["adult.data"]


def test_without_a_declared_length_the_right_file_is_kept_too(tmp_path):
    with serving(declared=0) as server:
        fetched(server.address(), tmp_path / "adult.data")
    assert (tmp_path / "adult.data").read_bytes() == CONTENT


def test_a_file_of_the_right_size_with_another_checksum_is_not_kept(tmp_path):
    with serving(content=CONTENT[:-2] + b"0\n") as server:
        assert "SHA-256" in refusal(server.address(), tmp_path / "adult.data")


def test_a_file_that_is_too_short_is_not_kept(tmp_path):
    with serving(content=CONTENT[:-10]) as server:
        assert "bytes, but the known one has" in refusal(server.address(), tmp_path / "adult.data")


@pytest.mark.parametrize("declared", [None, 0])
def test_a_file_that_is_too_long_is_not_kept(tmp_path, declared):
    with serving(content=CONTENT * 50, declared=declared) as server:
        assert "longer than" in refusal(server.address(), tmp_path / "adult.data")


def test_a_transfer_that_breaks_off_leaves_nothing(tmp_path):
    with serving(content=CONTENT[:100], declared=len(CONTENT)) as server:
        assert "broke off" in refusal(server.address(), tmp_path / "adult.data")


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_status_that_is_no_success_is_reported(tmp_path, status):
    with serving(status=status) as server:
        assert f"status {status}" in refusal(server.address(), tmp_path / "adult.data")


def test_a_refused_connection_is_reported(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        what = refusal(f"http://127.0.0.1:{taken.getsockname()[1]}/adult.data", tmp_path / "adult.data")
    assert "cannot be reached" in what


def test_an_answer_that_is_no_http_is_reported(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            client, _ = listening.accept()
            with client:
                client.recv(4096)
                client.sendall(b"\x00\x01 nonsense\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        what = refusal(f"http://127.0.0.1:{listening.getsockname()[1]}/adult.data", tmp_path / "adult.data")
        thread.join()
    assert "cannot be reached" in what


def test_a_redirect_within_the_scheme_is_followed_and_one_to_another_is_not(tmp_path):
    with serving() as right:
        with serving(location=right.address("moved"), content=b"") as first:
            fetched(first.address(), tmp_path / "kept" / "adult.data")
        assert right.asked == ["/moved"]
    elsewhere = {
        "https://127.0.0.1:1/adult.data": "another scheme",
        "ftp://127.0.0.1/adult.data": "another scheme",
        "file:///adult.data": "status 302",  # urllib itself does not follow this one
    }
    for location, text in elsewhere.items():
        with serving(location=location, content=b"") as server:
            assert text in refusal(server.address(), tmp_path / "refused" / "adult.data")


def test_only_https_is_asked_unless_a_test_says_otherwise(tmp_path):
    with serving() as server:
        for address in (server.address(), (tmp_path / "adult.data").as_uri(), "ftp://127.0.0.1/adult.data"):
            with pytest.raises(InputError, match="not one of https"):
                fetch(address, tmp_path / "adult.data", sha256=SHA256, size=len(CONTENT))
        assert server.asked == []


def test_a_file_that_is_there_is_replaced_by_the_right_one_only(tmp_path):
    target = tmp_path / "adult.data"
    target.write_bytes(b"mine")
    with serving(content=b"wrong") as server, pytest.raises(InputError):
        fetched(server.address(), target)
    assert target.read_bytes() == b"mine"
    with serving() as server:
        fetched(server.address(), target)
    assert target.read_bytes() == CONTENT


def small(server, description=described.ADULT):
    """A data set whose source is the server, with the server's content as the right one."""
    source = replace(
        description.source_file, sha256=SHA256, size=len(CONTENT), address=server.address(description.source_file.name)
    )
    return replace(description, source_file=source)


def test_a_data_set_is_fetched_once_and_turned_into_its_table(tmp_path):
    with serving() as server:
        first = load(small(server), tmp_path, fetch=True, schemes=("http",))
        again = load(small(server), tmp_path, fetch=True, schemes=("http",))
        assert server.asked == ["/adult.data"]
    assert first.path == again.path == tmp_path / "adult" / "adult.csv"
    header, _, body = first.path.read_bytes().partition(b"\n")
    assert header.startswith(b"age, workclass, fnlwgt, ") and body == CONTENT


def test_nothing_is_asked_where_the_table_is_there(tmp_path):
    """Not even with `fetch`."""
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.csv").write_bytes(b"age\n1\n")
    with serving() as server:
        found = load(small(server), tmp_path, fetch=True, schemes=("http",))
        assert server.asked == []
    assert found.path.read_bytes() == b"age\n1\n"


def test_nothing_is_asked_unless_fetch_is_passed(tmp_path):
    with serving() as server:
        with pytest.raises(InputError, match="fetch=True"):
            load(small(server), tmp_path)
        assert server.asked == []


def test_a_source_file_that_was_downloaded_by_hand_is_checked_and_used(tmp_path):
    (tmp_path / "adult").mkdir()
    with serving() as server:
        (tmp_path / "adult" / "adult.data").write_bytes(CONTENT)
        assert load(small(server), tmp_path).path.read_bytes().endswith(CONTENT)
        (tmp_path / "adult" / "adult.csv").unlink()
        (tmp_path / "adult" / "adult.data").write_bytes(CONTENT[:-1])
        with pytest.raises(InputError, match="not identical to the one at its source"):
            load(small(server), tmp_path, fetch=True, schemes=("http",))
        assert server.asked == []
    assert not (tmp_path / "adult" / "adult.csv").exists()


def test_what_goes_wrong_on_the_way_leaves_no_table(tmp_path):
    with serving(status=404) as server, pytest.raises(InputError, match="404"):
        load(small(server), tmp_path, fetch=True, schemes=("http",))
    assert not (tmp_path / "adult").exists()


@pytest.mark.parametrize("name", ["stroke", "nist_ma", "adult_study"])
def test_a_set_that_is_not_fetched_says_what_to_put_where(tmp_path, name):
    with pytest.raises(InputError) as caught:
        ALL[name][0](tmp_path, fetch=True)
    (problem,) = caught.value.problems
    assert problem.where == f"cvpl.datasets.{name}"
    assert str(tmp_path / ALL[name][1].table) in problem.what
    assert "It is not fetched" in problem.cure and "Download" in problem.cure and FOLDER_VARIABLE in problem.cure
    assert f"into the folder {(tmp_path / ALL[name][1].table).parent} " in problem.cure.replace(". ", " ")


def test_what_was_downloaded_as_the_failed_fetch_advises_is_found(tmp_path, monkeypatch):
    """The address and the place that the message names are those that work, for a relative folder too."""
    monkeypatch.chdir(tmp_path)
    with serving(status=503) as server:
        with pytest.raises(InputError) as caught:
            load(small(server), "data", fetch=True, schemes=("http",))
        (problem,) = caught.value.problems
        place = tmp_path / "data" / "adult" / "adult.data"
        assert problem.cure == f"Download {server.address()} by hand and put it at {place}."
        place.parent.mkdir(parents=True)
        place.write_bytes(CONTENT)
        assert load(small(server), "data").path.read_bytes().endswith(CONTENT)


@pytest.mark.parametrize("held", ["adult.csv", "adult.data"])
@pytest.mark.parametrize("fetched", [False, True])
def test_the_folder_of_the_set_itself_is_refused_with_the_one_above_it(tmp_path, held, fetched):
    own = tmp_path / "adult"
    own.mkdir()
    (own / held).write_bytes(CONTENT)
    with serving() as server:
        with pytest.raises(InputError) as caught:
            load(small(server), own, fetch=fetched, schemes=("http",))
        assert server.asked == []
    (problem,) = caught.value.problems
    assert f"the folder {own} itself contains {held}" in problem.what
    assert problem.cure == f"Name {tmp_path} as `folder`, or in {FOLDER_VARIABLE}."


@pytest.mark.parametrize("name", ["adult", "german_credit"])
def test_a_source_that_is_fetched_is_named_with_https(name):
    source = ALL[name][1].source_file
    assert source.address.startswith("https://archive.ics.uci.edu/") and source.address.endswith(source.name)
    assert len(bytes.fromhex(source.sha256)) == 32


def test_the_folder_is_the_one_named_else_the_variable_s_else_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder() == tmp_path / "named"
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert data_folder() == tmp_path / "cache" / "cvpl" / "data"


def test_a_set_is_read_from_the_folder_that_the_variable_names(tmp_path, monkeypatch):
    (tmp_path / "german").mkdir()
    (tmp_path / "german" / "german.csv").write_text("age\n1\n")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert datasets.german_credit().path == tmp_path / "german" / "german.csv"


def test_importing_the_module_opens_no_socket():
    code = (
        "import socket\n"
        "class Refused(socket.socket):\n"
        "    def __new__(cls, *a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket = Refused\n"
        "import cvpl.datasets, cvpl.datasets.loading, cvpl.datasets.fetching\n"
        "print(cvpl.datasets.Dataset.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "Dataset"


def write_german(folder):
    """Forty people in the shape of the real table."""
    names = list(described.GERMAN_NAMES)
    rng = np.random.default_rng(7)
    numeric = [name for name, entry in described.GERMAN_CREDIT.columns.items() if entry.get("type") == "numeric"]
    rows = [
        [str(rng.integers(20, 60)) if name in numeric else f"A{rng.integers(3)}" for name in names] for _ in range(40)
    ]
    (folder / "german").mkdir(parents=True)
    with (folder / "german" / "german.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def test_a_data_set_is_audited_with_its_own_configuration(tmp_path):
    write_german(tmp_path)
    found = datasets.german_credit(tmp_path)
    result = cvpl.audit(found.path, found.path, {**found.config, "attacker": "paper", "seed": 1})
    assert result.linkage_rate.estimate == 1
    assert found.config is not found.config
    found.config["columns"]["age"]["role"] = "ignore"
    assert found.columns["age"]["role"] == "quasi_identifier"


def test_a_data_set_is_a_frame_too(tmp_path):
    write_german(tmp_path)
    frame = datasets.german_credit(tmp_path).frame()
    assert len(frame) == 40
    assert frame.order == described.GERMAN_NAMES
    assert frame.number("age").min() >= 20
    assert set(frame.category("housing").labels) == {"A0", "A1", "A2"}
    assert "credit" in frame.carried


def test_a_control_that_is_absent_is_missed(tmp_path):
    folder = tmp_path / "adult_study_2021"
    folder.mkdir()
    (folder / "trn.csv.gz").write_bytes(gzip.compress(b"age\n1\n"))
    with pytest.raises(InputError, match=r"val\.csv\.gz"):
        datasets.adult_study(tmp_path)
    (folder / "val.csv.gz").write_bytes(gzip.compress(b"age\n1\n"))
    found = datasets.adult_study(tmp_path)
    assert found.config["control"] == {"file": str(folder / "val.csv.gz")}
    assert found.releases == {} and found.truths == {}


def test_a_release_that_is_not_there_has_no_configuration(tmp_path):
    write_german(tmp_path)
    with pytest.raises(InputError, match="There are: none"):
        datasets.german_credit(tmp_path).config_for("k5")


@needs_data
@pytest.mark.parametrize("name", ALL)
def test_every_column_of_a_real_table_is_declared_and_no_other(name):
    make, description = ALL[name]
    found = make(SHARED)
    opened = gzip.open if found.path.suffix == ".gz" else open
    with opened(found.path, "rt", encoding="utf-8", newline="") as file:
        header = [field.strip() for field in next(csv.reader(file))]
    assert sorted(header) == sorted(found.columns)
    assert found.releases.keys() == description.releases.keys()
    assert found.hierarchies.keys() == description.hierarchies.keys()
    assert found.licence and found.citation and found.source.startswith("https://")


@needs_data
@pytest.mark.parametrize(
    ("name", "part"), [("adult", lambda item: item), ("german_credit", lambda item: item.replace(b",", b" "))]
)
def test_the_shared_table_is_the_source_s_file_under_a_header(name, part):
    """So the checksum that is known publicly is the checksum of what is read here."""
    make, description = ALL[name]
    content = make(SHARED).path.read_bytes()
    body = part(content.partition(b"\n")[2])
    assert (len(body), hashlib.sha256(body).hexdigest()) == (
        description.source_file.size,
        description.source_file.sha256,
    )
    assert description.source_file.to_table(body) == content


@needs_data
def test_the_shared_stroke_table_is_the_source_s_file():
    content = datasets.stroke(SHARED).path.read_bytes()
    known = described.STROKE.source_file
    assert (len(content), hashlib.sha256(content).hexdigest()) == (known.size, known.sha256)


@needs_data
def test_a_release_with_known_rows_is_audited_with_its_truth():
    found = datasets.nist_ma(SHARED)
    config = {**found.config_for("subsample40_all"), "attacker": "paper", "seed": 42, **LINKAGE_ALONE}
    result = cvpl.audit(found.path, found.releases["subsample40_all"], config, quick=TIMES == 1)
    assert result.truth is not None and result.truth.total_recall == 1


RELEASES = [(name, release) for name, (_, description) in ALL.items() for release in description.releases]


@needs_data
@pytest.mark.parametrize(("name", "release"), RELEASES[:: examples_apart(3)])
def test_every_release_is_read_with_its_configuration_and_has_no_label_that_nobody_has(name, release):
    """A label that the original lacks agrees with nobody's; in these releases that would be a fault of the reading."""
    found = ALL[name][0](SHARED)
    resolved = load_config({**found.config_for(release), "attacker": "paper"})
    read = read_inputs(
        found.path,
        found.releases[release],
        resolved.specs,
        reading=resolved.reading,
        identity=resolved.identity,
        checks=TIMES > 1,
    )
    assert (read.evaluation.matches is not None) == (release in found.truths or name == "stroke")
    for spec in read.pair.original.specs:
        ours, theirs = (table.columns[spec.name] for table in (read.pair.original, read.pair.protected))
        if spec.type == "category":
            assert set(theirs.codes.tolist()) <= {*ours.codes.tolist(), -1}
