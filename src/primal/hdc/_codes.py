"""Codes and bundles: integer phases with a type and operators, complex sums, and rows of both.

Phases are uint32 (units of 2**-32 turn) or uint64 (2**-64 turn). PyTorch has no arithmetic for
these, so a tensor holds the same bits as int32 or int64. Memories and decoders work on the host, on
rows of real and imaginary parts in turn.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from primal._checks import instance_of, reject_lost_values
from primal._extras import require
from primal._parallel import over_rows
from primal.errors import DataError
from primal.exact import Finish, engine

# By type, since the name of one takes NumPy longer than a short sum does.
_ARRAY_BITS = {np.dtype(np.uint32): 32, np.dtype(np.uint64): 64}
_TENSOR_BITS = {"torch.int32": 32, "torch.int64": 64}
# Entries that one thread takes at least; fewer are done before a second thread has started.
_LEAST_ENTRIES = 1 << 17
# Of a number that is added up in float32.
LARGEST = 1e30


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
        if not _turn_bits(turns) or not turns.ndim or not turns.shape[-1]:
            raise DataError(
                "codes are phases of shape (..., k), k > 0, uint32 or uint64 arrays of NumPy or "
                f"int32 or int64 tensors of PyTorch, got {_described(turns)}: encode values with a "
                "vocabulary, complex numbers with nearest_code."
            )
        if not is_tensor(turns):  # PyTorch has no read-only tensors
            turns = _plain_array("turns", turns).view()
            turns.flags.writeable = False
        self._turns = turns

    @staticmethod
    def stack(codes: Iterable[Codes]) -> Codes:
        """Return codes of one shape along a new first axis."""
        members = list(codes)
        for member in members:
            instance_of("every member of a stack", member, Codes)
        turns = [member.turns for member in members]
        kinds = {(type(t).__name__, str(t.dtype), tuple(t.shape)) for t in turns}
        if len(kinds) != 1:
            raise DataError(
                f"stack takes codes of one type and shape, at least one, got {sorted(kinds)}."
            )
        return Codes(library(turns[0]).stack(turns))

    @property
    def turns(self) -> Any:
        return self._turns

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._turns.shape)

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
        return _turn_bits(self.turns)

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
        return Codes(_turn_power(self.turns, float(r)))

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
    return _turn_phasors(x.turns) if isinstance(x, Codes) else x


def operand(x: Any) -> Any:
    """Return x if it is codes or a bundle, checked; raise DataError otherwise, with a way out.

    All bundles that users pass come through here, once. A bundle is a plain array or a tensor.
    """
    if isinstance(x, Codes):
        return x
    if is_complex(x) and x.ndim and x.shape[-1]:
        bundle = _plain_array("a bundle", x)
        if not is_finite(bundle):
            lib = library(bundle)
            place = tuple(lib.argwhere(~lib.isfinite(bundle))[0].tolist())
            raise DataError(
                f"a bundle must contain finite numbers, got {bundle[place].item()} at "
                f"{list(place)}: remove or replace it."
            )
        return bundle
    raise DataError(
        f"expected Codes, or a bundle (complex64 or complex128, shape (..., k)), got "
        f"{_described(x)}: encode values with a vocabulary, wrap integer phases as "
        "hdc.Codes(turns), combine several with Codes.stack; weights go into "
        "bundle(codes, weights=...)."
    )


def fit(a: Any, b: Any) -> tuple[Any, Any]:
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
    if not all(m == n or 1 in (m, n) for m, n in pairs):
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
    _over_entries(lambda x, y, z: operation(x, y, out=z), ta, tb, out)
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


def nearest_code(bundle: Any) -> Codes:
    """Return the codes whose phases are those of a bundle, lengths forgotten.

    Parameters
    ----------
    bundle : complex array of shape (..., k)

    Returns
    -------
    Codes of the same shape
        32-bit turns from complex64, 64-bit ones from complex128; 0 where the bundle is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.hdc import nearest_code
    >>> nearest_code(np.array([3 + 0j, 2j], dtype=np.complex64)).turns.tolist()
    [0, 1073741824]
    """
    bundle = operand(bundle)
    return bundle if isinstance(bundle, Codes) else Codes(_nearest_turns(bundle))


def to_torch(x: Any) -> Any:
    """Return NumPy codes or a NumPy bundle as PyTorch's, with the same bits.

    Parameters
    ----------
    x : Codes or complex array of shape (..., k)

    Returns
    -------
    Codes of a Tensor, or Tensor
        Codes are copied, a bundle shares its memory unless it is read-only.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from primal import hdc
    >>> hdc.to_torch(hdc.Codes(np.array([1, 2**32 - 1], dtype=np.uint32))).turns
    tensor([ 1, -1], dtype=torch.int32)
    """
    torch, x = require("torch", "to_torch"), operand(x)
    if isinstance(x, Codes):
        if is_tensor(x.turns):
            return x
        # Copied, since PyTorch cannot keep them from being changed.
        return Codes(torch.from_numpy(np.array(x.turns.view(f"i{x.turns.itemsize}"))))
    if is_tensor(x):
        return x
    return torch.from_numpy(np.require(x, requirements=("C", "W")))


def to_numpy(x: Any) -> Any:
    """Return PyTorch's codes or a bundle as NumPy's, with the same bits.

    Parameters
    ----------
    x : Codes or complex Tensor of shape (..., k)

    Returns
    -------
    Codes of an ndarray, or ndarray

    Examples
    --------
    >>> import torch
    >>> from primal import hdc
    >>> hdc.to_numpy(hdc.Codes(torch.tensor([1, -1], dtype=torch.int32))).turns
    array([         1, 4294967295], dtype=uint32)
    """
    if isinstance(x, Codes):
        return Codes(on_host(x._turns)) if is_tensor(x._turns) else x
    x = operand(x)
    return x.detach().resolve_conj().cpu().numpy() if is_tensor(x) else x


def is_tensor(x: object) -> bool:
    """Whether x is a PyTorch tensor; PyTorch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def library(x: object) -> Any:
    """Return torch for its tensors, else numpy."""
    return sys.modules["torch"] if is_tensor(x) else np


def _turn_bits(x: Any) -> int:
    """Return 32 or 64 for integer phases of that many bits, 0 for anything else."""
    if isinstance(x, np.ndarray):
        return _ARRAY_BITS.get(x.dtype, 0)
    return _TENSOR_BITS.get(str(x.dtype), 0) if is_tensor(x) else 0


def is_complex(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype in (np.complex64, np.complex128)
    return is_tensor(x) and x.dtype.is_complex


def _turn_phasors(turns: Any) -> Any:
    """Return exp(2 pi i turns): complex64 from 32-bit phases, complex128 from 64-bit ones."""
    if is_tensor(turns):  # by way of the host, whose bits they are to have
        z = _turn_phasors(on_host(turns))
        return sys.modules["torch"].from_numpy(z).to(turns.device)
    out = np.empty(turns.shape, dtype=np.complex64 if turns.itemsize == 4 else np.complex128)
    if out.size:
        k = turns.shape[-1]
        rows = out.reshape(-1, k).view(out.real.dtype)
        engine().write_turns(turns.reshape(-1, k), rows, Finish("interleaved"))
    return out


def _nearest_turns(z: Any) -> Any:
    """Return the phases of complex numbers: 32-bit from complex64, 64-bit from complex128."""
    lib = library(z)
    narrow = z.dtype == lib.complex64
    real, imaginary = (lib.asarray(part, dtype=lib.float64) for part in (z.real, z.imag))
    scaled = lib.arctan2(imaginary, real) / (2.0 * math.pi) * 2.0**32
    nearest = lib.round(scaled)
    # 2**63 itself does not fit into int64: the last 32 bits come from the rest.
    rest = (scaled - nearest) * 2.0**32
    whole, rest = (lib.asarray(part, dtype=lib.int64) for part in (nearest, rest))
    turns = lib.asarray(whole, dtype=lib.int32) if narrow else (whole << 32) + rest
    return turns if is_tensor(z) else turns.view(f"u{turns.itemsize}")


def _turn_power(turns: Any, exponent: float) -> Any:
    """Return phases times a number, as ``codes ** exponent`` means it."""
    if is_tensor(turns):
        made = _turn_power(on_host(turns), exponent).view(f"i{turns.itemsize}")
        return sys.modules["torch"].from_numpy(made).to(turns.device)
    bits = _turn_bits(turns)
    kept = min(bits, 52)  # a float64 product holds that many
    whole = math.floor(exponent)
    result = turns * turns.dtype.type(whole % (1 << bits))
    if exponent != whole:
        part = np.rint(
            turns.view(f"i{turns.itemsize}") * ((exponent - whole) * 2.0 ** (kept - bits))
        )
        result += (part.astype(np.int64) << (bits - kept)).astype(turns.dtype)
    return result


def _over_entries(work: Any, *arrays: np.ndarray) -> None:
    """Call work(*pieces) on rows of equally shaped arrays, several threads at a time."""
    shape = arrays[0].shape
    if arrays[0].ndim < 2 or arrays[0].size < 2 * _LEAST_ENTRIES:
        work(*arrays)
        return
    least_rows = -(-_LEAST_ENTRIES * shape[0] // arrays[0].size)
    over_rows(shape[0], least_rows, lambda i, j: work(*(array[i:j] for array in arrays)))


def unit_rows(x: Any) -> Any:
    """Return codes or bundles (..., k) as real rows (..., 2 k) of length 1, or 0 for zeros.

    A product of two such rows is the similarity: half of the work of a complex one.
    """
    coded = isinstance(x, Codes)
    z = _turn_phasors(x._turns) if coded else x
    if is_tensor(z):
        rows = library(z).view_as_real(z.resolve_conj().contiguous()).flatten(-2)
    else:
        rows = np.ascontiguousarray(z).view(z.real.dtype)
    if coded:  # the length is known
        return rows * (1.0 / math.sqrt(z.shape[-1]))
    with np.errstate(over="ignore"):
        lengths = (rows**2).sum(-1)[..., None] ** 0.5
    if not ((lengths > 1e-15) & (lengths < 1e15)).all():  # squares may be out of range
        sizes = library(rows).amax(abs(rows), -1)[..., None]
        rows = rows / (sizes + (sizes == 0))
        lengths = (rows**2).sum(-1)[..., None] ** 0.5
    return rows / (lengths + (lengths == 0))


def query_rows(name: str, x: Any, k: int) -> np.ndarray:
    """Return codes or bundles (k,) or (n, k), of either library, as :func:`unit_rows` (n, 2 k).

    Of NumPy, and float32.
    """
    rows = unit_rows(to_numpy(x)).astype(np.float32, copy=False)
    if rows.ndim > 2 or rows.shape[-1] != 2 * k:
        raise _misfit(name, tuple(x.shape), k)
    return rows.reshape(-1, 2 * k)


def memory_rows(name: str, x: Any, k: int) -> Any:
    """Return codes or bundles (k,) or (n, k), of either library, as rows (n, k) of NumPy."""
    rows = to_numpy(x)
    if rows.ndim > 2 or rows.shape[-1] != k:
        raise _misfit(name, rows.shape, k)
    return rows[None] if rows.ndim == 1 else rows


def require_sizes(name: str, x: Any, below: float = LARGEST) -> None:
    """Raise DataError for a bundle of NumPy that is too large for sums of float32.

    One such number would be in every answer, and there look like any other.
    """
    with np.errstate(over="ignore"):
        largest = 0.0 if isinstance(x, Codes) else np.abs(x).max(initial=0.0)
    if not largest < below:
        raise DataError(
            f"{name} must be below {below:g} in size, got {largest:g}: scale the numbers down."
        )


def side_by_side(z: np.ndarray, dtype: Any = np.complex64) -> np.ndarray:
    """Return complex rows (..., k) as real ones (..., 2 k): real and imaginary parts in turn."""
    z = np.ascontiguousarray(z, dtype=dtype)
    return z.view(z.real.dtype)


def from_side_by_side(rows: np.ndarray) -> np.ndarray:
    """Return what :func:`side_by_side` was given, from float32 rows."""
    return np.ascontiguousarray(rows).view(np.complex64)


def _misfit(name: str, shape: tuple[int, ...], k: int) -> DataError:
    return DataError(
        f"codes of this memory have {k} phases, got {name} of {shape[-1]} phases, shape {shape}: "
        "use its own space, one code or rows of them."
    )


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _plain_array(name: str, x: Any) -> Any:
    """Return an array of NumPy as one of no subclass, a tensor as it is; reject masked values."""
    if type(x) is np.ndarray or is_tensor(x):
        return x
    reject_lost_values(name, x, as_floats=False)
    return np.asarray(x)


def is_finite(x: Any) -> bool:
    """Whether all numbers of an array or a tensor are finite."""
    return bool(library(x).isfinite(x).all())


def on_host(turns: Any) -> np.ndarray:
    """Return the phases of a tensor as NumPy's, with the same bits."""
    return turns.detach().cpu().numpy().view(f"u{turns.itemsize}")
