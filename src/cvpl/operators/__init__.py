"""The operators of an attack, each a frozen value: blocking, vectorization, projection, similarity, threshold.

None imports another, and none knows the true matches, the mechanism or the simulator; `cvpl.attack` composes them.
"""
