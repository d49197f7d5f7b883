"""The JSON schemas of results, of `audit.yaml` and of manifests; `python -m cvpl.schemas` regenerates them."""
