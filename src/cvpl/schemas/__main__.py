"""Regenerate the schema files from the code."""

from __future__ import annotations

import json
from pathlib import Path

from cvpl.config.manifest import ManifestConfig
from cvpl.config.written import AuditConfig
from cvpl.result import benchmark_schema, comparison_schema, json_schema, surface_schema, trial_schema

SCHEMAS = {
    "result.json": json_schema(),
    "comparison.json": comparison_schema(),
    "surface.json": surface_schema(),
    "benchmark.json": benchmark_schema(),
    "trial.json": trial_schema(),
    "config.json": AuditConfig.model_json_schema(),
    "manifest.json": ManifestConfig.model_json_schema(),
}

for name, schema in SCHEMAS.items():
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    (Path(__file__).parent / name).write_text(text, encoding="utf-8")
