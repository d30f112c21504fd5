"""Maps for JavaScript: what the ES module beside this file cannot make itself comes from here."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np

from primal._checks import instance_of
from primal.edge._sensors import column_factors
from primal.errors import ParameterError
from primal.exact import HadamardTable
from primal.maps import DynamicPrime, KernelPrime, StaticPrime

# The module itself: copy it, or publish its folder with npm.
JS_MODULE = Path(__file__).parent / "js" / "primal.js"


def to_js(model: StaticPrime | DynamicPrime | KernelPrime) -> dict[str, object]:
    """Return a map as JSON values for the classes of the same names in ``JS_MODULE``.

    They are its spec, with the table of frequencies where JavaScript does not make it from primes:
    ``new DynamicPrime(values).encode(x)`` has the bits of ``model.encode(x)``. Those of a
    KernelPrime are of the map behind it, with amplitudes, offsets and scales of the inputs.

    Parameters
    ----------
    model : StaticPrime, DynamicPrime or KernelPrime
        Without `layer_norm`, with precision "exact"; of fitted ``PrimeFeatures`` the ``map_``.

    Returns
    -------
    values : dict
        For :func:`json.dumps`. Arrays are little-endian integers in base64.

    Examples
    --------
    >>> import primal
    >>> from primal.edge import to_js
    >>> sorted(to_js(primal.DynamicPrime(2, 8)))[-3:]
    ['sigma', 'type', 'version']
    >>> sorted(to_js(primal.DynamicPrime(2, 8, basis="auto"))["table"])
    ['exponents', 'mantissas']
    """
    if isinstance(model, StaticPrime):
        made = model.spec
        return made if model.spacing == "raw" else made | {"increments": _packed(model.increments)}
    if isinstance(model, KernelPrime):
        offsets, scales = model.finish.offsets, model.input_scales
        made = to_js(model.map) | {"type": "KernelPrime"}
        made["amplitudes"] = _packed(column_factors(model).astype(np.float32))
        made |= {} if offsets is None else {"offsets": _packed(offsets)}
        return made if scales is None else made | {"scales": scales.tolist()}
    instance_of("model", model, StaticPrime, KernelPrime, DynamicPrime)
    made = model.spec
    if made["layer_norm"] or model.precision != "exact":
        raise ParameterError(
            f'{model!r} does not have the same bits in JavaScript: use precision="exact", and '
            "normalize rows before the map."
        )
    if made["basis"] == "paper" and made["primes"] == "consecutive":
        return made
    table = model.basis.table
    if isinstance(table, HadamardTable):
        signs, factors = (table.signs != 0).astype(np.uint8), table.factors.astype(np.uint32)
        packed = {"signs": _packed(signs), "factors": _packed(factors)}
        return made | {"table": {"m": table.m, "scale": table.scale, **packed}}
    exponents = table.exponents.tolist()
    return made | {"table": {"exponents": exponents, "mantissas": _packed(table.mantissas)}}


def _packed(array: np.ndarray) -> str:
    return base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode()
