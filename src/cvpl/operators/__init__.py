"""The operators of an attack, each an immutable value: blocking, vectorization, projection, similarity, threshold.

None imports another, and none has access to the true matches, the mechanism or the simulator; `cvpl.attack` composes
them.
"""
