"""Download a file from its original source, and keep it only if it has the known checksum."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from cvpl.errors import InputError, Problem
from cvpl.files import write_whole
from cvpl.wording import sentence

PATIENCE = 30.0
"""Seconds to wait for a response."""
LONGEST = 600.0
"""Seconds allowed for a whole transfer; the largest file has four megabytes."""
_CHUNK = 1 << 16


def fetch(address: str, target: Path, *, sha256: str, size: int, schemes: Sequence[str] = ("https",)) -> None:
    """Download the file at `address` to `target` if it has this size and SHA-256; else raise and keep nothing.

    Only addresses with one of `schemes` are used, and a redirect to another scheme is not followed. At most one byte
    more than `size` is read. An existing file is replaced only by the right one.
    """
    where = f"{urlsplit(address).hostname}, {target.name}"
    if urlsplit(address).scheme not in schemes:
        raise InputError([Problem(where, f"the address is not one of {', '.join(schemes)}", "Use such an address.")])
    by_hand = f"download {address} by hand and put it at {target.absolute()}"
    content = _download(address, where, size, by_hand)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        what = f"the file has the SHA-256 {found}, not the known one, {sha256}; nothing was kept"
        cure = f"It was changed at the source or in transit. Find another copy, and put it at {target.absolute()}."
        raise InputError([Problem(where, what, cure)])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content)
    except OSError as error:
        what = f"the file cannot be written: {error.strerror}"
        raise InputError([Problem(str(target.parent), what, "Name another folder.")]) from None


def _download(address: str, where: str, size: int, by_hand: str) -> bytes:
    """The `size` bytes at the address; `by_hand` says how else to get them."""
    from http.client import HTTPException  # noqa: PLC0415 - loaded when something is fetched
    from urllib.error import HTTPError  # noqa: PLC0415
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # noqa: PLC0415

    class SameScheme(HTTPRedirectHandler):
        """A redirect handler that does not follow redirects to another scheme."""

        def redirect_request(
            self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
        ) -> Request | None:
            if urlsplit(newurl).scheme != urlsplit(req.full_url).scheme:
                fp.close()
                what = "the source redirects to an address with another scheme, which is not followed"
                raise InputError([Problem(where, what, sentence(by_hand))])
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    request = Request(address, headers={"User-Agent": "cvpl"})  # noqa: S310 - the scheme was checked
    try:
        with build_opener(SameScheme()).open(request, timeout=PATIENCE) as response:
            declared = response.headers.get("Content-Length", "")
            content = _read_response(response, size + 1)
    except HTTPError as error:
        what = f"the source answers with the status {error.code}"
        error.close()
        raise InputError([Problem(where, what, sentence(by_hand))]) from None
    except (OSError, HTTPException, ValueError):
        # The error text may contain addresses of the user's own network.
        what = "the source cannot be reached, or the transfer broke off; nothing was kept"
        raise InputError([Problem(where, what, f"Try again, or {by_hand}.")]) from None
    if len(content) == size:
        return content
    if len(content) > size:
        what = f"the file is longer than the {size:,} bytes of the known one; nothing was kept"
    elif declared.isdecimal() and len(content) < int(declared):
        what = f"the transfer broke off after {len(content):,} of {size:,} bytes; nothing was kept"
    else:
        what = f"the file has {len(content):,} bytes, but the known one has {size:,}; nothing was kept"
    raise InputError([Problem(where, what, f"Try again, or {by_hand}.")])


def _read_response(response: IO[bytes], most: int) -> bytes:
    """Read at most `most` bytes, within the time limit of a transfer."""
    end = time.monotonic() + LONGEST
    parts: list[bytes] = []
    left = most
    while left and (part := response.read(min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
        if time.monotonic() > end:
            raise TimeoutError
    return b"".join(parts)
