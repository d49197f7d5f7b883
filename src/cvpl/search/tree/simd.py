"""SIMD vectors of sixteen lanes for the kernel: 32-bit integers, or pairs of 16-bit integers.

Numba compiles loops over numbers; LLVM decides whether they become vector instructions, and on the kernel's short loops
it decides wrongly. So the kernel uses vectors explicitly: an `int32x16` is a value like any other, LLVM splits it into
the registers of the machine (one with AVX-512, two with AVX2, four with NEON), and a comparison gives one bit per lane.
Processors multiply twice as many 16-bit integers at a time as single-precision numbers, and add neighbours in the same
step; so a lane often holds two of them, its halves, called a pair here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 16


@njit(nogil=True, inline="always")
def natural(index: int) -> Any:
    """A non-negative index; for any other, Numba checks the sign on each access, which slows the innermost loops."""
    return np.uint64(index)


_BIT, _HALF, _WORD = ir.IntType(1), ir.IntType(16), ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, LANES)
_HALVES = ir.VectorType(_HALF, 2 * LANES)


class Int32x16(types.Type):
    """The type of sixteen lanes."""

    def __init__(self) -> None:
        super().__init__(name="int32x16")


@register_model(Int32x16)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


_vector = Int32x16()


def _splat(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_WORD, LANES), [0] * LANES))


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _lanes_at(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.bitcast(_place(context, builder, kind, array, index), _VECTOR.as_pointer())


def _sum_of_products(builder: Any, one: Any, other: Any) -> Any:
    """Lane by lane: the product of the low halves plus that of the high halves."""
    wide = ir.VectorType(_WORD, 2 * LANES)
    product = builder.mul(builder.sext(one, wide), builder.sext(other, wide), flags=("nsw",))
    nothing = ir.Constant(wide, ir.Undefined)
    low, high = (
        builder.shuffle_vector(product, nothing, ir.Constant(_VECTOR, list(range(half, 2 * LANES, 2))))
        for half in (0, 1)
    )
    return builder.add(low, high)


@intrinsic
def load(_: Any, array: Any, index: Any) -> Any:
    """array[index : index + 16], without bounds checks."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_lanes_at(context, builder, signature.args[0], *given), align=4)

    return _vector(array, types.int64), code


@intrinsic
def store(_: Any, array: Any, index: Any, vector: Any) -> Any:
    """array[index : index + 16] = vector, without bounds checks."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[2], _lanes_at(context, builder, signature.args[0], *given[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, _vector), code


@intrinsic
def broadcast(_: Any, array: Any, index: Any) -> Any:
    """array[index] in every lane."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _splat(builder, builder.load(_place(context, builder, signature.args[0], *given)))

    return _vector(array, types.int64), code


@intrinsic
def zero(_: Any) -> Any:
    """0 in every lane."""
    return _vector(), lambda context, builder, signature, given: ir.Constant(_VECTOR, [0] * LANES)


@intrinsic
def add_products(_: Any, total: Any, one: Any, other: Any) -> Any:
    """Lane by lane: total + the product of the low halves + the product of the high halves, signed."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        total, one, other = given
        one, other = (builder.bitcast(side, _HALVES) for side in (one, other))
        return builder.add(total, _sum_of_products(builder, one, other))

    return _vector(_vector, _vector, _vector), code


@intrinsic
def add_gaps(_: Any, total: Any, pair: Any, low: Any, high: Any) -> Any:
    """Lane by lane: total + the squared distances of both halves from their intervals [low, high], unsigned.

    A distance must fit in 15 bits.
    """

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        total, *sides = given
        pair, low, high = (builder.bitcast(side, _HALVES) for side in sides)
        kind = ir.FunctionType(_HALVES, [_HALVES, _HALVES])
        less = cgutils.get_or_insert_function(builder.module, kind, f"llvm.usub.sat.v{2 * LANES}i16")
        gap = builder.or_(builder.call(less, [low, pair]), builder.call(less, [pair, high]))
        return builder.add(total, _sum_of_products(builder, gap, gap))

    return _vector(_vector, _vector, _vector, _vector), code


def _comparison(sign: str) -> Any:
    @intrinsic
    def compare(_: Any, vector: Any, limit: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            bits = builder.icmp_signed(sign, given[0], _splat(builder, builder.trunc(given[1], _WORD)))
            return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))

        return types.int64(_vector, types.int64), code

    return compare


at_most = _comparison("<=")
"""A bit for each lane: whether it is at most the limit."""
at_least = _comparison(">=")
"""A bit for each lane: whether it is at least the limit."""


@intrinsic
def highest(_: Any, vector: Any) -> Any:
    """The largest of the sixteen."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(_WORD, [_VECTOR])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.smax.v{LANES}i32")
        return builder.sext(builder.call(function, [given[0]]), ir.IntType(64))

    return types.int64(_vector), code


@intrinsic
def select_below(_: Any, vector: Any, limit: Any, otherwise: Any) -> Any:
    """Each lane where it is below the limit, and `otherwise` elsewhere."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        vector = given[0]
        limit, otherwise = (_splat(builder, builder.trunc(number, _WORD)) for number in given[1:])
        return builder.select(builder.icmp_signed("<", vector, limit), vector, otherwise)

    return _vector(_vector, types.int64, types.int64), code


def _spread_sign(builder: Any, vector: Any) -> Any:
    """All ones in the lanes below 0, and 0 in the others.

    Conditions are kept in lanes as wide as the numbers: LLVM narrows vectors of single bits to bytes and back, which
    takes longer than the comparison where registers are short.
    """
    return builder.ashr(vector, ir.Constant(_VECTOR, [31] * LANES))


def _select(builder: Any, mask: Any, one: Any, other: Any) -> Any:
    """`one` in the lanes of all ones, `other` in the lanes of 0."""
    return builder.xor(other, builder.and_(builder.xor(one, other), mask))


def _is_disjoint(builder: Any, least: Any, most: Any, low: Any, high: Any) -> Any:
    """All ones where [least, most] does not meet [low, high]; the differences must fit in 32 bits."""
    return _spread_sign(builder, builder.or_(builder.sub(most, low), builder.sub(high, least)))


@intrinsic
def add_agreement(_: Any, total: Any, codes: Any, low: Any, high: Any, agree: Any, differ: Any) -> Any:
    """Lane by lane: total + `agree` where the code is in [low, high], + `differ` at others, + 0 at those below 0."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        total, codes = given[:2]
        low, high, agree, differ = (_splat(builder, builder.trunc(number, _WORD)) for number in given[2:])
        known = builder.not_(_spread_sign(builder, codes))
        added = _select(builder, _is_disjoint(builder, codes, codes, low, high), differ, agree)
        return builder.add(total, builder.and_(added, known))

    return _vector(_vector, _vector, *[types.int64] * 4), code


@intrinsic
def add_overlap(_: Any, total: Any, least: Any, most: Any, low: Any, high: Any, agree: Any, differ: Any) -> Any:
    """Lane by lane: total + `agree` where [least, most] overlaps [low, high], + `differ` elsewhere."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        total, least, most = given[:3]
        low, high, agree, differ = (_splat(builder, builder.trunc(number, _WORD)) for number in given[3:])
        return builder.add(total, _select(builder, _is_disjoint(builder, least, most, low, high), differ, agree))

    return _vector(_vector, _vector, _vector, *[types.int64] * 4), code


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.icmp_signed(">", one, other), one, other)


@intrinsic
def add_summary(
    _: Any,
    total: Any,
    summaries: Any,
    index: Any,
    low: Any,
    high: Any,
    bits: Any,
    most: Any,
    least: Any,
) -> Any:
    """Lane by lane: total + the most that a summary allows, which is five vectors from summaries[index] on.

    They are its range and its mask, the gain if both meet the query's, and the rest. The gain is at most `most`, the
    rest at least `least`; if range and mask meet, the larger of both is added, else the rest.
    """

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        total, array, index = given[:3]
        low, high, bits, most, least = (_splat(builder, builder.trunc(number, _WORD)) for number in given[3:])
        places = [builder.add(index, ir.Constant(index.type, number * LANES)) for number in range(5)]
        first, last, mask, gain, rest = (
            builder.load(_lanes_at(context, builder, signature.args[1], array, place), align=4) for place in places
        )
        shared = builder.and_(mask, bits)
        shares = _spread_sign(builder, builder.or_(shared, builder.neg(shared)))
        meets = builder.and_(shares, builder.not_(_is_disjoint(builder, first, last, low, high)))
        rest = _larger(builder, rest, least)
        gain = _larger(builder, builder.select(builder.icmp_signed("<", gain, most), gain, most), rest)
        return builder.add(total, _select(builder, meets, gain, rest))

    return _vector(_vector, summaries, *[types.int64] * 6), code


@intrinsic
def append(_: Any, array: Any, index: Any, first: Any, bits: Any) -> Any:
    """array[index:] = first + the positions of the set bits among the lowest sixteen; returns their number."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, index, first, bits = given
        lanes = ir.Constant(_VECTOR, list(range(LANES)))
        numbers = builder.add(_splat(builder, builder.trunc(first, _WORD)), lanes)
        chosen = builder.bitcast(builder.trunc(bits, ir.IntType(LANES)), ir.VectorType(_BIT, LANES))
        place = _place(context, builder, signature.args[0], array, index)
        kind = ir.FunctionType(ir.VoidType(), [_VECTOR, place.type, chosen.type])
        name = f"llvm.masked.compressstore.v{LANES}i32"
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [numbers, place, chosen])
        return builder.ctpop(bits)

    return types.int64(array, types.int64, types.int64, types.int64), code


@intrinsic
def fetch(_: Any, array: Any, index: Any) -> Any:
    """Prefetch array[index] into the cache."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.bitcast(_place(context, builder, signature.args[0], *given), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [place.type, _WORD, _WORD, _WORD])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, *(ir.Constant(_WORD, item) for item in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), code


@intrinsic
def lowest_bit(_: Any, bits: Any) -> Any:
    """The position of the lowest set bit; some bit must be set."""
    return types.int64(types.int64), lambda context, builder, signature, given: builder.cttz(
        given[0], ir.Constant(_BIT, 1)
    )
