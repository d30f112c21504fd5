"""The algebra of phasor codes.

Between codes, binding is integer arithmetic that wraps: it is associative and commutative, and
inverses are exact, to the last bit.
"""

import math
from functools import reduce
from typing import Any

import numpy as np

from primal._checks import flag, require_memory, whole_number
from primal.errors import DataError
from primal.hdc._arrays import is_complex, is_tensor, library, nearest_turns, side_by_side
from primal.hdc._codes import Codes, add, combine, fit, operand, phasors


def bind(*codes: Any) -> Any:
    """Return the product of codes: the sum of their phases. For two, ``a * b``.

    Parameters
    ----------
    *codes : Codes or complex arrays of shape (..., k)
        Two or more, broadcast against each other, or a list of them; or one stack of shape
        (..., n, k), multiplied along its axis n.

    Returns
    -------
    Codes or complex array of shape (..., k)
        The product of codes is one; with a bundle among them it is a bundle.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> key, value = space.symbols("key").encode("capital"), space.symbols("value").encode("Paris")
    >>> hdc.unbind(hdc.bind(key, value), key) == value
    True
    """
    stack, members = _members("bind", codes)
    if stack is None:
        return reduce(lambda a, b: combine(a, b, np.add), members)
    if not isinstance(stack, Codes):
        return stack.prod(-2)
    return Codes(stack.turns.sum(-2, dtype=stack.turns.dtype))


def unbind(a: Any, b: Any) -> Any:
    """Return a divided by b: exactly what was bound with b, if both are codes. Also ``a / b``.

    Parameters
    ----------
    a, b : Codes or complex arrays of shape (..., k)
        Broadcast against each other.

    Returns
    -------
    Codes or complex array of shape (..., k)

    Examples
    --------
    >>> from primal import hdc
    >>> key, value, other = hdc.Space(512).symbols().encode(["key", "value", "other"])
    >>> found = hdc.unbind(key * value + other, key)  # from a bundle: with crosstalk
    >>> hdc.unbind(key * value, key) == value, round(float(hdc.similarity(found, value)), 1)
    (True, 0.7)
    """
    return combine(a, b, np.subtract)


def inverse(a: Any) -> Any:
    """Return the code that binds with `a` to the identity (``~a``); the conjugate of a bundle.

    Parameters
    ----------
    a : Codes or complex array of shape (..., k)

    Returns
    -------
    Codes or complex array of the same shape

    Examples
    --------
    >>> from primal import hdc
    >>> a = hdc.Space(512).symbols().encode("a")
    >>> hdc.bind(a, hdc.inverse(a)) == hdc.identity(256)
    True
    """
    return ~a if isinstance(a, Codes) else operand(a).conj()


def negative(a: Any) -> Any:
    """Return ``-a``: every phase half a turn further.

    Parameters
    ----------
    a : Codes or complex array of shape (..., k)

    Returns
    -------
    Codes or complex array of the same shape

    Examples
    --------
    >>> from primal import hdc
    >>> a = hdc.Space(512).symbols().encode("a")
    >>> round(float(hdc.similarity(a, hdc.negative(a))), 6)
    -1.0
    """
    return -operand(a)


def permute(a: Any, n: int = 1) -> Any:
    """Return `a` with its entries moved n places on, the last ones to the front.

    Parameters
    ----------
    a : Codes or complex array of shape (..., k)
    n : int, default=1
        Negative to move them back.

    Returns
    -------
    Codes or complex array of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> hdc.permute(hdc.Codes(np.array([1, 2, 3], dtype=np.uint32))).turns
    array([3, 1, 2], dtype=uint32)
    """
    places = whole_number("n", n, least=-(2**63))
    array = a.turns if isinstance(a, Codes) else operand(a)
    moved = library(array).roll(array, places % array.shape[-1], -1)
    return Codes(moved) if isinstance(a, Codes) else moved


def power(a: Any, r: float) -> Codes:
    """Return `a` bound with itself r times. Also ``a ** r``.

    A whole r multiplies integers that wrap: the result is exact. For other r each phase is read
    within half a turn of zero, multiplied by r and rounded: within 2**-32 turn for 32-bit codes and
    2**-52 turn for 64-bit ones. For real numbers take :class:`primal.hdc.Reals`.

    Parameters
    ----------
    a : Codes of shape (..., k)
    r : float
        Below 2**53 in size.

    Returns
    -------
    Codes of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> sixth = hdc.Codes(np.array([2**31 // 3], dtype=np.uint32))
    >>> [hdc.power(sixth, r).turns.tolist() for r in (3, 0.5, -1)]
    [[2147483646], [357913941], [3579139414]]
    """
    if not isinstance(operand(a), Codes):
        raise DataError(f"power takes codes, got {a.dtype}: use nearest_code(bundle) first.")
    return a**r


def bundle(*codes: Any, weights: Any = None, normalize: bool = False) -> Any:
    """Return the sum of codes, similar to each. For two, ``a + b``.

    Parameters
    ----------
    *codes : Codes or complex arrays of shape (..., k)
        As in :func:`bind`.
    weights : array_like of shape (n,), for a stack also (..., n), optional
        Factors of the n summands.
    normalize : bool, default=False
        Give every entry the length 1 afterwards; the result holds fewer items: decode raw sums.

    Returns
    -------
    complex array of shape (..., k)

    Examples
    --------
    >>> from primal import hdc
    >>> symbols = hdc.Space(1024).symbols()
    >>> fruit = hdc.bundle(symbols.encode(["apple", "pear", "fig"]))
    >>> hdc.similarity(fruit, symbols.encode(["fig", "nail"])).round(1).tolist()
    [0.6, -0.0]
    """
    unit = flag("normalize", normalize)
    stack, members = _members("bundle", codes)
    if stack is not None:
        z = phasors(stack)
        total = (z if weights is None else z * _factors(weights, z)[..., None]).sum(-2)
    else:
        terms = [phasors(member) for member in members]
        if weights is not None:
            factors = _factors(weights, terms[0], n=len(terms))
            terms = [z * factors[i] for i, z in enumerate(terms)]
        total = reduce(add, terms)
    return _normalized(total) if unit else total


def normalize(a: Any) -> Any:
    """Return a bundle with every entry of length 1; entries of 0 become 1, as in torchhd.

    Parameters
    ----------
    a : Codes or complex array of shape (..., k)

    Returns
    -------
    complex array of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> hdc.normalize(np.array([3.0, 2j, 0.0])).tolist()
    [(1+0j), 1j, (1+0j)]
    """
    return _normalized(phasors(a))


def similarity(a: Any, b: Any) -> Any:
    """Return the cosine similarity of codes or bundles.

    Parameters
    ----------
    a, b : Codes or complex arrays of shape (..., k)
        Broadcast against each other.

    Returns
    -------
    float array of shape (...)
        Within [-1, 1]; 0 for a bundle of zeros.

    Examples
    --------
    >>> from primal import hdc
    >>> a = hdc.Space(512).symbols().encode("a")
    >>> round(float(hdc.similarity(a, a)), 6), round(float(hdc.similarity(a, -a)), 6)
    (1.0, -1.0)
    """
    if isinstance(a, Codes) and isinstance(b, Codes):
        return _wide(phasors(a / b).real).mean(-1)
    fit(a, b)
    return _wide(unit_rows(a) * unit_rows(b)).sum(-1).clip(-1.0, 1.0)


def similarity_matrix(a: Any, b: Any) -> Any:
    """Return the cosine similarity of every row of `a` with every row of `b`.

    Parameters
    ----------
    a, b : Codes or complex arrays of shape (n, k) and (m, k), or (k,)

    Returns
    -------
    float array of shape (n, m)
        Without the axis of an operand of shape (k,).

    Examples
    --------
    >>> from primal import hdc
    >>> codes = hdc.Space(1024).symbols().encode(["a", "b", "c"])
    >>> hdc.similarity_matrix(codes, codes).shape, hdc.similarity_matrix(codes[0], codes).shape
    ((3, 3), (3,))
    """
    for x in fit(a, b, broadcast=False):
        if x.ndim > 2:
            raise DataError(
                f"expected rows of shape (n, k) or one of shape (k,), got {tuple(x.shape)}."
            )
    rows, columns = unit_rows(a), unit_rows(b)
    return rows @ (columns.T if columns.ndim == 2 else columns)


def identity(k: int) -> Codes:
    """Return the code that binds without effect.

    Parameters
    ----------
    k : int
        Number of phases.

    Returns
    -------
    Codes of shape (k,), uint32
        All phases are 0.

    Examples
    --------
    >>> from primal import hdc
    >>> a = hdc.Space(512).symbols().encode("a")
    >>> a * hdc.identity(256) == a
    True
    """
    n = whole_number("k", k, least=1)
    require_memory(4 * n, f"a code of {n} phases")
    return Codes(np.zeros(n, dtype=np.uint32))


def _members(name: str, codes: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return one stack and no members, or None and the members."""
    if len(codes) == 1 and not isinstance(codes[0], (list, tuple)):
        stack = operand(codes[0])
        if stack.ndim < 2:
            raise DataError(
                f"{name} needs two codes or more, or a stack of shape (..., n, k), got one of "
                f"shape {tuple(stack.shape)}."
            )
        return stack, ()
    members = tuple(codes[0]) if len(codes) == 1 else codes
    if not members:
        raise DataError(f"{name} needs at least one code, got none.")
    return None, tuple(operand(member) for member in members)


def _factors(weights: Any, z: Any, n: int | None = None) -> Any:
    """Return weights of the stack z of shape (..., n, k), or of n vectors like z, in its type."""
    shape = tuple(z.shape[:-1]) if n is None else (n,)
    try:
        if is_complex(weights):
            raise TypeError("their imaginary parts would be lost")
        if is_tensor(z):
            factors = library(z).as_tensor(weights, dtype=z.real.dtype, device=z.device)
        else:
            factors = np.asarray(weights, dtype=z.real.dtype)
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"weights must be real numbers, got {weights!r}.") from None
    if tuple(factors.shape) not in (shape, shape[-1:]):
        raise DataError(
            f"weights must have the shape {shape[-1:]}, one for each summand, got "
            f"{tuple(factors.shape)}."
        )
    return factors


def _normalized(z: Any) -> Any:
    size, lib = abs(z), library(z)
    tiny = lib.finfo(size.dtype).tiny
    faint = size < tiny
    if faint.any():  # such sizes have few digits
        z = lib.where(faint, lib.where(faint, z, 0) * 2.0**64, z)
        size = abs(z)
    return lib.where(size > 0, z / size.clip(min=tiny), lib.ones_like(z))


def _wide(x: Any) -> Any:
    """Return an array as float64, so that sums over many entries do not round; tensors stay."""
    return x if is_tensor(x) else x.astype(np.float64, copy=False)


def unit_rows(x: Any) -> Any:
    """Return codes or bundles (..., k) as real rows (..., 2 k) of length 1, or 0 for zeros.

    A product of two such rows is the similarity: half of the work of a complex one.
    """
    z = phasors(x)
    if is_tensor(z):
        rows = library(z).view_as_real(z.resolve_conj().contiguous()).flatten(-2)
    else:
        rows = side_by_side(z, z.dtype)
    if isinstance(x, Codes):  # the length is known
        return rows * (1.0 / math.sqrt(x.k))
    with np.errstate(over="ignore"):
        lengths = (rows**2).sum(-1)[..., None] ** 0.5
    if not ((lengths > 1e-15) & (lengths < 1e15)).all():  # squares may be out of range
        sizes = library(rows).amax(abs(rows), -1)[..., None]
        rows = rows / (sizes + (sizes == 0))
        lengths = (rows**2).sum(-1)[..., None] ** 0.5
    return rows / (lengths + (lengths == 0))


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
    return bundle if isinstance(bundle, Codes) else Codes(nearest_turns(operand(bundle)))
