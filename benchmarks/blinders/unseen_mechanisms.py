"""Mechanisms written by somebody who had not seen the attackers."""

from __future__ import annotations

from blinders.mechanism import Mechanism

MECHANISMS: tuple[Mechanism, ...] = ()
