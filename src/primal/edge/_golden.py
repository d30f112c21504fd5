"""Golden outputs: inputs that need no memory, and digests over what a header makes of them."""

from __future__ import annotations

import numpy as np

from primal.edge._q15 import waves_q15
from primal.edge._readout import SensorModel
from primal.edge._schemes import ExactScheme
from primal.edge._sensors import SensorMap, in_columns
from primal.maps import StaticPrime
from primal.turns import LARGEST_LOG2_TURNS, phases_to_bits, round_turns, static_turns

_SQRT2 = 0x6A09E667F3BCC909  # odd, so that its multiples run through all 64-bit words
_DIGEST = 0x9E3779B1


def sample_rows(source: StaticPrime | SensorMap, rows: range) -> np.ndarray:
    """Return the inputs that a self-test takes: multiples of sqrt(2), shape (n, d)."""
    d = 1 if isinstance(source, StaticPrime) else source.d
    inputs = np.dtype(np.int64) if isinstance(source, StaticPrime) else source.inputs
    at = np.arange(rows.start * d + 1, rows.stop * d + 1, dtype=np.uint64)
    words = (at * np.uint64(_SQRT2)) >> np.uint64(64 - 8 * inputs.itemsize)
    n = words.astype(f"uint{8 * inputs.itemsize}").view(inputs).reshape(-1, d)
    return n >> inputs.type(sample_shift(source))


def sample_shift(source: StaticPrime | SensorMap) -> int:
    """Return how many bits less of an input keep phases below the limit of the map."""
    if isinstance(source, StaticPrime) or not isinstance(source.scheme, ExactScheme):
        return 0
    largest = (
        np.ldexp(2.0 ** (8 * source.inputs.itemsize - 1), -source.scheme.fraction_bits)
        * source.table.largest_l1_norm
    )
    return max(0, int(np.ceil(np.log2(largest))) - LARGEST_LOG2_TURNS)


def golden_digests(model: StaticPrime | SensorMap | SensorModel, rows: range) -> list[int]:
    """Return the five digests of a self-test over some of its rows."""
    source = model.sensor if isinstance(model, SensorModel) else model
    n = sample_rows(source, rows)
    if isinstance(source, StaticPrime):
        turns = round_turns(static_turns(n[:, 0].astype(np.uint64), source.increments))
        q15 = in_columns(*waves_q15(turns), source.layout, source.D)
        features, bits = source.encode(n[:, 0]), phases_to_bits(turns)
    else:
        turns, features = source.turns(n), source.encode(n)
        q15, bits = source.encode_q15(n), source.encode_bits(n)
    outputs = [turns, features.view(np.uint32), q15.view(np.uint16), bits]
    digests = [_digest(values) for values in outputs]
    scores = _digest(model.scores(n).view(np.uint32)) if isinstance(model, SensorModel) else 0
    return [*digests, scores]


def _digest(values: np.ndarray) -> int:
    """Return sum_i values_i a**(N - 1 - i) mod 2**32: one wrong value always shows."""
    flat = values.ravel().astype(np.uint32)
    powers = np.full(flat.size, _DIGEST, dtype=np.uint32)
    powers[:1] = 1
    np.multiply.accumulate(powers, out=powers)
    return int((flat[::-1] * powers).sum(dtype=np.uint32))
