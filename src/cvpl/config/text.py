"""A configuration from the text of an audit.yaml."""

from __future__ import annotations

import yaml

from cvpl.config.written import AuditConfig


def parse_config(text: str) -> AuditConfig:
    """Parse a configuration that cvpl itself wrote; `load` reads users' files."""
    return AuditConfig.model_validate(yaml.safe_load(text))
