"""The published JSON schemas of results and of `audit.yaml`; `python -m cvpl.schemas` writes them anew."""
