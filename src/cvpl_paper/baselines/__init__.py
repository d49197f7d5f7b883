"""Baselines: other methods on the same tables, under the same blocking (paper, section Baseline Methods).

    B1  Fellegi-Sunter with EM               `fellegi_sunter`, on the `agreement_patterns` of the candidate pairs
    B2  a candidate picked at random         `random_within_block`
    B3  no projection                        no code: an `Attacker` with `projection="identity"`
    B4  distance to the closest record       `distances`
    B5  nearest neighbour distance ratio     `distances`
        same source, training share (RCE)    `same_source`

Each takes the `Attack` whose tables, blocks and representation it shares, and a `Truth` if it needs one.
"""
