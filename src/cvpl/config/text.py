"""A configuration from the text of an audit.yaml."""

from __future__ import annotations

import yaml

from cvpl.config.written import AuditConfig


def parse_config(text: str) -> AuditConfig:
    """The configuration that a text of our own making holds; a file of the user's is read by `load`."""
    return AuditConfig.model_validate(yaml.safe_load(text))
