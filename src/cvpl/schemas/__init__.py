"""The published JSON schemas of `result.json`, `comparison.json` and `audit.yaml`.

`python -m cvpl.schemas` writes them anew.
"""
