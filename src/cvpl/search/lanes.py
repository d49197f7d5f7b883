"""Sixteen single-precision numbers as one value, for the kernel.

Numba compiles loops over numbers; whether they become vector instructions is LLVM's guess, and on the kernel's short
loops it guesses wrong. So the kernel says it: a `float32x16` is a value like any other, LLVM splits it into whatever
registers the machine has (one with AVX-512, two with AVX2, four with NEON), and a comparison gives one bit a lane.
Nothing here is exact; the kernel only filters with it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 16

_FAST = ("contract", "nnan", "nsz")
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_BIT, _WORD = ir.IntType(1), ir.IntType(32)


class Float32x16(types.Type):
    """The type of sixteen single-precision numbers."""

    def __init__(self) -> None:
        super().__init__(name="float32x16")


@register_model(Float32x16)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


_vector = Float32x16()


def _splat(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_WORD, LANES), [0] * LANES))


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def _lanes_at(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.bitcast(_place(context, builder, kind, array, index), _VECTOR.as_pointer())


@intrinsic
def load(_: Any, array: Any, index: Any) -> Any:
    """array[index : index + 16]; nothing is checked."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.load(_lanes_at(context, builder, signature.args[0], *given), align=4)

    return _vector(array, types.int64), code


@intrinsic
def store(_: Any, array: Any, index: Any, vector: Any) -> Any:
    """array[index : index + 16] = vector; nothing is checked."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store(given[2], _lanes_at(context, builder, signature.args[0], *given[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, _vector), code


@intrinsic
def everywhere(_: Any, array: Any, index: Any) -> Any:
    """array[index] in every lane."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _splat(builder, builder.load(_place(context, builder, signature.args[0], *given)))

    return _vector(array, types.int64), code


@intrinsic
def zero(_: Any) -> Any:
    """0 in every lane."""
    return _vector(), lambda context, builder, signature, given: ir.Constant(_VECTOR, [0.0] * LANES)


@intrinsic
def multiply_add(_: Any, one: Any, other: Any, total: Any) -> Any:
    """Lane by lane: total + one * other."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        one, other, total = given
        return builder.fadd(builder.fmul(one, other, flags=_FAST), total, flags=_FAST)

    return _vector(_vector, _vector, _vector), code


@intrinsic
def add_gap(_: Any, total: Any, number: Any, low: Any, high: Any) -> Any:
    """Lane by lane: total + the squared distance of `number` from the interval [low, high]."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        total, number, low, high = given

        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", a, b, flags=_FAST), a, b)

        outside = larger(builder.fsub(low, number, flags=_FAST), builder.fsub(number, high, flags=_FAST))
        gap = larger(outside, ir.Constant(_VECTOR, [0.0] * LANES))
        return builder.fadd(total, builder.fmul(gap, gap, flags=_FAST), flags=_FAST)

    return _vector(_vector, _vector, _vector, _vector), code


def _comparison(sign: str) -> Any:
    @intrinsic
    def compare(_: Any, vector: Any, limit: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            bits = builder.fcmp_ordered(sign, given[0], _splat(builder, given[1]))
            return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))

        return types.int64(_vector, types.float32), code

    return compare


at_most = _comparison("<=")
"""A bit for each lane: whether it is at most the limit."""
at_least = _comparison(">=")
"""A bit for each lane: whether it is at least the limit."""


@intrinsic
def highest(_: Any, vector: Any) -> Any:
    """The largest of the sixteen."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(ir.FloatType(), [_VECTOR])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fmax.v{LANES}f32")
        return builder.call(function, [given[0]], fastmath=("nnan",))

    return types.float32(_vector), code


@intrinsic
def below(_: Any, vector: Any, limit: Any, otherwise: Any) -> Any:
    """Each lane where it is below the limit, and `otherwise` elsewhere."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        vector, limit, otherwise = given
        small = builder.fcmp_ordered("<", vector, _splat(builder, limit))
        return builder.select(small, vector, _splat(builder, otherwise))

    return _vector(_vector, types.float32, types.float32), code


@intrinsic
def lowest_bit(_: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; some bit must be."""
    return types.int64(types.int64), lambda context, builder, signature, given: builder.cttz(
        given[0], ir.Constant(_BIT, 1)
    )
