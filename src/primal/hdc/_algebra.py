"""The algebra of phasor codes.

Between codes, binding is integer arithmetic that wraps: it is associative and commutative, and
inverses are exact, to the last bit.
"""

from functools import reduce
from typing import Any

import numpy as np

from primal._checks import raised_as, real_array, whole_number
from primal.errors import DataError
from primal.exact import engine
from primal.hdc._codes import (
    Codes,
    add,
    as_bundle,
    combine,
    fit,
    is_finite,
    is_tensor,
    library,
    operand,
    unit_rows,
)


def bind(*codes: Any) -> Any:
    """Return the product of many codes, the sum of their phases. For two, write ``a * b``.

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
    >>> space = hdc.Space(512, roles=("who", "what", "where"))
    >>> codes = [space.symbols(role).encode(role) for role in space.roles]
    >>> hdc.bind(codes) == codes[0] * codes[1] * codes[2]
    True
    """
    stack, members = _members("bind", codes)
    if stack is None:
        return reduce(lambda a, b: combine(a, b, np.add), members)
    if not isinstance(stack, Codes):
        return stack.prod(-2)
    return Codes(stack.turns.sum(-2, dtype=stack.turns.dtype))


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
    a = operand(a)
    array = a.turns if isinstance(a, Codes) else a
    moved = library(array).roll(array, places % array.shape[-1], -1)
    return Codes(moved) if isinstance(a, Codes) else moved


def bundle(*codes: Any, weights: Any = None) -> Any:
    """Return the sum of many codes, similar to each. For two, ``a + b``.

    Parameters
    ----------
    *codes : Codes or complex arrays of shape (..., k)
        As in :func:`bind`.
    weights : array_like of shape (n,), for a stack also (..., n), optional
        Factors of the n summands, finite.

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
    stack, members = _members("bundle", codes)
    if stack is not None:
        if weights is None and isinstance(stack, Codes) and not is_tensor(stack.turns):
            return _sums(stack.turns)
        z = as_bundle(stack)
        return (z if weights is None else z * _factors(weights, z)[..., None]).sum(-2)
    terms = [as_bundle(member) for member in members]
    if weights is not None:
        factors = _factors(weights, terms[0], n=len(terms))
        terms = [z * factors[i] for i, z in enumerate(terms)]
    return reduce(add, terms)


def _sums(turns: np.ndarray) -> np.ndarray:
    """Return the sums of codes (..., n, k) along n; their phasors never exist together."""
    *shape, n, k = turns.shape
    sums = np.zeros((*shape, k), dtype=np.complex64 if turns.itemsize == 4 else np.complex128)
    if turns.size:
        rows = sums.reshape(-1, k).view(sums.real.dtype)
        engine().sum_turns(turns.reshape(-1, n, k), rows)
    return sums


def normalize(a: Any) -> Any:
    """Return a bundle with every entry of length 1; entries of 0 become 1, as in torchhd.

    It holds fewer items than the raw sum, which is the one to decode.

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
    z = as_bundle(operand(a))
    lib = library(z)
    with np.errstate(over="ignore"):
        size = abs(z)
    tiny, most = lib.finfo(size.dtype).tiny, lib.finfo(size.dtype).max
    faint, huge = size < tiny, size > most
    if faint.any() or huge.any():  # such sizes have few digits, or none
        z = lib.where(faint, lib.where(faint, z, 0) * 2.0**64, z)
        z = lib.where(huge, z * 0.25, z)
        size = abs(z)
    return lib.where(size > 0, z / size.clip(min=tiny), lib.ones_like(z))


def similarity(a: Any, b: Any) -> Any:
    """Return the cosine similarity of codes or bundles.

    Parameters
    ----------
    a, b : Codes or complex arrays of shape (..., k)
        Broadcast against each other. For all pairs of many codes a product of matrices is faster:
        ``(phasors(a) @ phasors(b).conj().T).real / k``.

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
    a, b = operand(a), operand(b)
    if isinstance(a, Codes) and isinstance(b, Codes):
        return _wide(as_bundle(a / b).real).mean(-1)
    fit(a, b)
    return _wide(unit_rows(a) * unit_rows(b)).sum(-1).clip(-1.0, 1.0)


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
    with raised_as(DataError, "weights must be real numbers"):
        if not is_tensor(weights) or not is_tensor(z):
            weights = real_array("weights", weights)
        elif weights.is_complex():
            raise TypeError("their imaginary parts would be lost")
        if is_tensor(z):
            factors = library(z).as_tensor(weights, dtype=z.real.dtype, device=z.device)
        else:
            with np.errstate(over="ignore"):
                factors = weights.astype(z.real.dtype)
    if tuple(factors.shape) not in (shape, shape[-1:]):
        raise DataError(
            f"weights must have the shape {shape[-1:]}, one for each summand, got "
            f"{tuple(factors.shape)}."
        )
    if not is_finite(factors):
        raise DataError(f"weights must be finite numbers of type {factors.dtype}, got {weights}.")
    return factors


def _wide(x: Any) -> Any:
    """Return an array as float64, so that sums over many entries do not round; tensors stay."""
    return x if is_tensor(x) else x.astype(np.float64, copy=False)
