"""``Codes``: integer phases with a type, whose operators mean what the algebra says."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from primal.errors import DataError
from primal.hdc._arrays import (
    is_complex,
    is_finite,
    is_tensor,
    library,
    over_entries,
    plain_array,
    turn_bits,
    turn_phasors,
    turn_power,
)


class Codes:
    """Codes: rows of k integer phases each, of which k is the last axis.

    Operators are those of the algebra: ``a * b`` binds, ``a / b`` unbinds, ``~a`` is the inverse,
    ``-a`` the negative, and ``a + b`` the bundle. Bundles are plain complex arrays, in which ``*``
    and ``+`` mean the same; codes and bundles mix.

    ``a ** r`` is `a` bound with itself r times, r below 2**53 in size. An integer r multiplies
    integers that wrap: the result is exact. For other r each phase is taken within half a turn of
    zero, multiplied by r and rounded: within 2**-32 turn for 32-bit codes and 2**-52 turn for
    64-bit ones. For real numbers take :class:`primal.hdc.Reals`.

    Codes do not turn into numbers by themselves: ask for ``.turns`` or ``phasors(codes)``. Indices,
    iteration and ``len`` go over all axes but the last: a code is not taken apart.

    Parameters
    ----------
    turns : ndarray or Tensor of shape (..., k)
        NumPy's uint32 (units of 2**-32 turn) or uint64 (2**-64 turn), or the same bits as a tensor
        of int32 or int64. Not copied; read-only if they are NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> a, b = hdc.Space(512).symbols().encode(["a", "b"])
    >>> a * b / b == a, a**2 == a * a, a * ~a == a**0
    (True, True, True)
    >>> sixth = hdc.Codes(np.array([2**31 // 3], dtype=np.uint32))
    >>> [(sixth**r).turns.tolist() for r in (3, 0.5, -1)]
    [[2147483646], [357913941], [3579139414]]
    >>> a
    Codes of shape (256,), uint32, turns 0.3916 0.1422 0.6731 ... 0.0560
    >>> pair = hdc.Codes.stack([a, b])
    >>> (pair == a).tolist(), (pair + a).shape, (pair * (a + b)).dtype
    ([True, False], (2, 256), dtype('complex64'))
    """

    __slots__ = ("_turns",)

    # Codes may be equal without being one object, and equality compares arrays.
    __hash__ = None  # type: ignore[assignment]
    # NumPy leaves operators with codes on the right to us.
    __array_ufunc__ = None

    def __init__(self, turns: Any) -> None:
        if not turn_bits(turns) or not turns.ndim or not turns.shape[-1]:
            raise DataError(
                "codes are phases of shape (..., k), k > 0, uint32 or uint64 arrays of NumPy or "
                f"int32 or int64 tensors of PyTorch, got {_described(turns)}: encode values with a "
                "vocabulary, complex numbers with nearest_code."
            )
        if not is_tensor(turns):  # PyTorch has no read-only tensors
            turns = plain_array("turns", turns).view()
            turns.flags.writeable = False
        self._turns = turns

    @staticmethod
    def stack(codes: Sequence[Codes]) -> Codes:
        """Return codes of one shape along a new first axis."""
        members = list(codes) if isinstance(codes, (Sequence, Codes)) else [codes]
        if not members:
            raise DataError(f"stack needs at least one code, got {codes!r}.")
        for member in members:
            if not isinstance(member, Codes):
                raise DataError(f"stack takes codes, got {_described(member)}.")
            fit(members[0], member, broadcast=False)
            _same_bits(members[0], member)
        shapes = [member.shape for member in members]
        if len(set(shapes)) > 1:
            raise DataError(f"stack takes codes of one shape, got {shapes}.")
        turns = [member.turns for member in members]
        return Codes(library(turns[0]).stack(turns))

    @property
    def turns(self) -> Any:
        return self._turns

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.turns.shape)

    @property
    def ndim(self) -> int:
        return self.turns.ndim

    @property
    def k(self) -> int:
        """Phases of a code."""
        return self.turns.shape[-1]

    @property
    def bits(self) -> int:
        """Bits of a phase, 32 or 64."""
        return turn_bits(self.turns)

    def __mul__(self, other: Any) -> Any:
        return combine(self, operand(other), np.add)

    def __rmul__(self, other: Any) -> Any:
        return combine(operand(other), self, np.add)

    def __truediv__(self, other: Any) -> Any:
        return combine(self, operand(other), np.subtract)

    def __rtruediv__(self, other: Any) -> Any:
        return combine(operand(other), self, np.subtract)

    def __invert__(self) -> Codes:
        # NumPy wraps unsigned integers, and so does PyTorch its signed ones.
        return Codes(-self.turns)

    def __neg__(self) -> Codes:
        half = 1 << (self.bits - 1)  # the highest bit, which alone is PyTorch's smallest integer
        return Codes(self.turns ^ (-half if is_tensor(self.turns) else half))

    def __pow__(self, r: float) -> Codes:
        if not isinstance(r, numbers.Real) or not abs(r) < 2**53:  # type: ignore[unsupported-operation]
            raise DataError(f"r must be one real number below 2**53 in size, got {_described(r)}.")
        return Codes(turn_power(self.turns, float(r)))

    def __add__(self, other: Any) -> Any:
        return add(self, operand(other))

    def __radd__(self, other: Any) -> Any:
        # The built-in sum starts from 0, the empty bundle.
        return as_bundle(self) if isinstance(other, int) and other == 0 else self + other

    def __sub__(self, other: Any) -> Any:
        other = operand(other)
        fit(self, other)
        return as_bundle(self) - as_bundle(other)

    def __rsub__(self, other: Any) -> Any:
        other = operand(other)
        fit(other, self)
        return as_bundle(other) - as_bundle(self)

    def __eq__(self, other: object) -> Any:
        """Whether codes are the same to the bit: a bool, or one for each of several codes."""
        if isinstance(other, np.ndarray) or is_tensor(other):
            raise DataError(
                f"codes are compared with codes, got {_described(other)}: wrap phases as "
                "Codes(turns), or compare .turns."
            )
        if not isinstance(other, Codes):
            return NotImplemented
        turns, others = fit(self, other)
        _same_bits(self, other)
        same = (turns == others).all(-1)
        return bool(same) if same.ndim == 0 else same

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        if same is NotImplemented:
            return same
        return not same if isinstance(same, bool) else ~same

    def __len__(self) -> int:
        if self.ndim < 2:
            raise DataError(
                f"Codes of shape {self.shape} are one code, without a length; its k is {self.k}."
            )
        return self.turns.shape[0]

    def __iter__(self) -> Iterator[Codes]:
        return (Codes(self.turns[place]) for place in range(len(self)))

    def __getitem__(self, index: Any) -> Codes:
        places = index if isinstance(index, tuple) else (index,)
        try:
            # The last slice makes an index into the phases one too many.
            return Codes(self.turns[(*places, slice(None))])
        except (IndexError, TypeError, ValueError) as error:
            raise DataError(
                f"no codes at [{index!r}] of shape {self.shape}, whose last axis, the phases, is "
                f"not indexed: index .turns for that ({error})."
            ) from None

    def __repr__(self) -> str:
        flat = self.turns.reshape(-1)
        scale = 2.0**self.bits
        shown = [f"{int(turn) / scale % 1.0:.4f}" for turn in flat[:3]]
        if flat.shape[0] > 3:
            shown += ["...", f"{int(flat[-1]) / scale % 1.0:.4f}"]
        return f"Codes of shape {self.shape}, {self.turns.dtype}, turns {' '.join(shown)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Codes, (self.turns,)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise DataError(
            "codes are no array of numbers: take .turns for the integers or phasors(codes) for "
            "complex numbers, or use the operators of codes."
        )

    def __array_function__(self, *_: Any) -> Any:
        return self.__array__()


def phasors(x: Any) -> Any:
    """Return codes as complex numbers of length 1; a bundle is returned as it is.

    Parameters
    ----------
    x : Codes or complex array of shape (..., k)

    Returns
    -------
    complex array of the same shape
        complex64 from 32-bit codes, complex128 from 64-bit ones, with the bits of
        :func:`primal.exact.waves`, from NumPy and PyTorch alike.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> quarters = hdc.Codes(np.array([0, 2**30, 2**31], dtype=np.uint32))
    >>> hdc.phasors(quarters).real.astype(int)
    array([ 1,  0, -1])
    """
    return as_bundle(operand(x))


def as_bundle(x: Any) -> Any:
    """Return :func:`phasors` of what :func:`operand` has returned."""
    return turn_phasors(x.turns) if isinstance(x, Codes) else x


def operand(x: Any) -> Any:
    """Return x if it is codes or a bundle, checked; raise DataError otherwise, with a way out.

    All bundles that users pass come through here, once. A bundle is a plain array or a tensor.
    """
    if isinstance(x, Codes):
        return x
    if is_complex(x) and x.ndim and x.shape[-1]:
        bundle = plain_array("a bundle", x)
        if not is_finite(bundle):
            lib = library(bundle)
            place = tuple(lib.argwhere(~lib.isfinite(bundle))[0].tolist())
            raise DataError(
                f"a bundle must contain finite numbers, got {bundle[place].item()} at "
                f"{list(place)}: remove or replace it."
            )
        return bundle
    hint = "encode values with a vocabulary"
    if turn_bits(x):
        hint = "wrap integer phases as hdc.Codes(turns)"
    elif isinstance(x, (int, float, complex)):
        hint = "weights go into bundle(codes, weights=...), exponents into codes ** r"
    elif isinstance(x, (list, tuple)):
        hint = f"stack codes with Codes.stack, {hint}"
    raise DataError(
        f"expected Codes, or a bundle (complex64 or complex128, shape (..., k)), got "
        f"{_described(x)}: {hint}."
    )


def fit(a: Any, b: Any, *, broadcast: bool = True) -> tuple[Any, Any]:
    """Return the arrays behind two operands, after checking that they go together."""
    ta, tb = (x.turns if isinstance(x, Codes) else x for x in (a, b))
    if is_tensor(ta) != is_tensor(tb):
        raise DataError(
            "cannot combine codes in an ndarray with codes in a Tensor: use to_torch or to_numpy."
        )
    if ta.shape[-1] != tb.shape[-1]:
        raise DataError(
            f"cannot combine {ta.shape[-1]} phases with {tb.shape[-1]} (shapes {tuple(ta.shape)} "
            f"and {tuple(tb.shape)}): both must come from one space."
        )
    pairs = zip(reversed(ta.shape[:-1]), reversed(tb.shape[:-1]), strict=False)
    if broadcast and not all(m == n or 1 in (m, n) for m, n in pairs):
        raise DataError(
            f"the leading axes of {tuple(ta.shape)} and {tuple(tb.shape)} do not go together: "
            "they must be equal, 1 or missing."
        )
    return ta, tb


def add(a: Any, b: Any) -> Any:
    """Return the bundle of two operands."""
    fit(a, b)
    return as_bundle(a) + as_bundle(b)


def combine(a: Any, b: Any, operation: np.ufunc) -> Any:
    """Return a times b (np.add) or a times the inverse of b (np.subtract), of two operands."""
    ta, tb = fit(a, b)
    if not (isinstance(a, Codes) and isinstance(b, Codes)):
        za, zb = as_bundle(a), as_bundle(b)
        return za * zb if operation is np.add else za * zb.conj()
    _same_bits(a, b)
    if is_tensor(ta):
        return Codes(ta + tb if operation is np.add else ta - tb)
    if ta.shape != tb.shape:
        return Codes(operation(ta, tb))
    out = np.empty(ta.shape, dtype=ta.dtype)
    over_entries(lambda x, y, z: operation(x, y, out=z), ta, tb, out)
    return Codes(out)


def _same_bits(a: Codes, b: Codes) -> None:
    if a.turns.dtype != b.turns.dtype:
        raise DataError(
            f"cannot combine codes of {a.bits} and {b.bits} bits: round the longer one with "
            "primal.exact.round_turns."
        )


def _described(x: Any) -> str:
    if isinstance(x, Codes):
        return f"codes of shape {x.shape}"
    if isinstance(x, np.ndarray) or is_tensor(x):
        return f"{x.dtype} of shape {tuple(x.shape)}"
    with contextlib.suppress(ValueError, RecursionError):  # some numbers and lists have no text
        return f"{type(x).__name__} {x!r:.60}"
    return type(x).__name__
