"""Every variant of an operator that is compared with the oracle."""

from __future__ import annotations

from cvpl.operators.threshold import Grid
from worlds import BASE

GRID = Grid().values()
_PCA = BASE["projection"]
_WEIGHTS = {"kind": "agreement", "m": dict.fromkeys(("age", "code", "place", "amount", "colour", "when"), 0.9)}
_WEIGHTS["u"] = {"age": 0.1, "code": 0.3, "place": 0.2, "amount": 0.05, "colour": 0.4, "when": 0.01}
VARIANTS: dict[str, dict] = {
    "paper": {},
    "blocking: none": {"schemes": [[]]},
    "blocking: exact category": {"schemes": [[("colour", "exact")]]},
    "blocking: exact number": {"schemes": [[("age", "exact")]]},
    "blocking: exact time": {"schemes": [[("when", "exact")]]},
    "blocking: bins": {"schemes": [[("age", ("bin", 5)), ("amount", ("bin", 2.5))]]},
    "blocking: level 1": {"schemes": [[("place", ("level", 1))]]},
    "blocking: level 2": {"schemes": [[("place", ("level", 2))]]},
    "blocking: prefix": {"schemes": [[("code", ("prefix", 2))]]},
    "blocking: truncate year": {"schemes": [[("when", ("truncate", "year"))]]},
    "blocking: truncate month": {"schemes": [[("when", ("truncate", "month"))]]},
    "blocking: truncate day": {"schemes": [[("when", ("truncate", "day"))]]},
    "blocking: truncate hour": {"schemes": [[("when", ("truncate", "hour"))]]},
    "blocking: several keys": {"schemes": [[("place", ("level", 1)), ("code", ("prefix", 1)), ("age", ("bin", 10))]]},
    "blocking: lsh": {"schemes": [("lsh", 2)]},
    "blocking: ensemble": {"schemes": [[("colour", "exact")], [("place", ("level", 1))], ("lsh", 3)]},
    "scale: robust": {"scale": "robust"},
    "scale: none": {"scale": "none"},
    "encode: frequency": {"encode": "frequency"},
    "encode: hierarchical": {"encode": "hierarchical"},
    "missing: indicator": {"missing": "indicator"},
    "projection: identity": {"projection": {"kind": "identity"}},
    "projection: pca of the original": {"projection": _PCA | {"fit": "original"}},
    "projection: pca of the protected": {"projection": _PCA | {"fit": "protected"}},
    "projection: few components": {"projection": _PCA | {"variance": 0.5, "min": 1, "max": 2}},
    "projection: robust pca": {"projection": _PCA | {"kind": "robust_pca"}},
    "projection: robust pca of the original": {"projection": _PCA | {"kind": "robust_pca", "fit": "original"}},
    "projection: random": {"projection": {"kind": "random", "components": 4}},
    "similarity: euclidean": {"similarity": {"kind": "euclidean"}},
    "similarity: mahalanobis": {"similarity": {"kind": "mahalanobis"}},
    "similarity: mahalanobis unprojected": {
        "similarity": {"kind": "mahalanobis"},
        "projection": {"kind": "identity"},
    },
    "similarity: jaccard": {"similarity": {"kind": "jaccard"}},
    "similarity: agreement": {"similarity": _WEIGHTS},
    "knows some columns": {"knows": ["age", "colour", "when"]},
}
