"""The text of a header: templates in plain C, constants and tables of integers.

Its self-test has inputs that need no memory, and digests over what is made of them.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np

from primal import native
from primal.edge._q15 import COSINE, SINE
from primal.edge._readout import SensorModel
from primal.edge._schemes import ExactScheme, HadamardScheme, TableScheme
from primal.edge._sensors import PositionSensor, SensorMap
from primal.errors import ParameterError
from primal.exact import HadamardTable
from primal.maps import StaticPrime

_TEMPLATES = Path(__file__).parent / "c"
# Sources of the compiled library that are parts of headers too.
_SHARED = {name: Path(native.__file__).parent / f"{name}.h" for name in ("waves", "butterflies")}
_GOLDEN_ROWS = 4
_SQRT2 = 0x6A09E667F3BCC909  # odd, so that its multiples run through all 64-bit words
_DIGEST = 0x9E3779B1


class Header:
    """The parts of a header and their sizes."""

    def __init__(self, model: StaticPrime | SensorMap | SensorModel) -> None:
        self.model = model if isinstance(model, SensorModel) else None
        self.source = sensor_of(model)
        self.table_bytes = self.ram_bytes = 0
        self._lines: list[str] = []

    def text(self) -> str:
        source = self.source
        self._define("N_INPUTS", source.d)
        self._shape()
        phases = self._phases()
        transforms = ["words", "butterflies"] if phases == "hadamard" else []
        parts = ["head", *transforms, phases, "waves", "q15", "features"]
        self._waves()
        if self.model is not None:
            parts += ["readout", "model"]
            self._readout(self.model)
        self._define("SAMPLE_SHIFT", _sample_shift(source))
        self._define("N_GOLDEN", f"{_GOLDEN_ROWS}u")
        digests = golden_digests(self.model or source, range(_GOLDEN_ROWS))
        self._define("GOLDEN", f"{{{', '.join(f'{value}u' for value in digests)}}}")
        paths = {part: _SHARED.get(part, _TEMPLATES / f"{part}.h") for part in (*parts, "selftest")}
        templates = {part: path.read_text() for part, path in paths.items()}
        title = f"/* {_in_comment(repr(self.model or source))}"
        return "\n".join(
            [
                *textwrap.wrap(title, 96, subsequent_indent="   ", break_on_hyphens=False),
                "   Written by primal.edge.export_c: bit-identical to Python. */",
                "#ifndef PRIMAL_HEADER\n#define PRIMAL_HEADER\n",
                templates.pop("head"),
                *self._lines,
                "",
                *templates.values(),
                "#endif",
                "",
            ]
        )

    def call(self) -> str:
        if self.model is not None:
            return "uint32_t call(const primal_input *x) { return primal_predict(x); }"
        return "void call(const primal_input *x, int16_t *z) { primal_encode_q15(x, z); }"

    def _define(self, name: str, value: object) -> None:
        self._lines.append(f"#define PRIMAL_{name} {value}")

    def _table(self, name: str, values: np.ndarray, *, counts: bool = True) -> None:
        """Write a constant table in the type of its values; those that `call` reads count."""
        kind = "float" if values.dtype == np.float32 else f"{values.dtype.name}_t"
        suffix = {"uint64": "ull", "uint32": "u"}.get(values.dtype.name, "")
        flat = values.ravel()
        words = map(_float, flat) if kind == "float" else (f"{v}{suffix}" for v in flat.tolist())
        text, indent = " ".join(f"{word}," for word in words), "    "
        self._lines.append(f"static const {kind} PRIMAL_{name}[{values.size}] = {{")
        self._lines.append(
            textwrap.fill(
                text, 96, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
        )
        self._lines.append("};")
        self.table_bytes += values.nbytes * counts

    def _shape(self) -> None:
        source = self.source
        k, factors = source.n_frequencies, source.factors
        self._lines.append(f"typedef {source.inputs}_t primal_input;")
        self._define("N_FREQUENCIES", f"{k}u")
        self._define("N_FEATURES", f"{source.D}u")
        n_sines = source.D - k
        has_sine = {0: "0", k: "1"}.get(n_sines, f"((i) < {n_sines}u)")
        self._define("HAS_SINE(i)", has_sine)
        block = source.finish.layout == "block"
        self._define("COS_PLACE(i)", "(i)" if block else "(2u * (i))")
        self._define("SIN_PLACE(i)", f"({k}u + (i))" if block else "(2u * (i) + 1u)")
        factor, factor_q15 = _float(factors[0]), ""
        if (factors != factors[0]).any():
            waves = slice(k) if block else slice(None, None, 2)
            self._table("FACTORS_F32", factors[waves].astype(np.float32), counts=False)
            self._table("FACTORS_Q15", source.factors_q15[waves], counts=self.model is None)
            at = f"[(place) % {k}u]" if block else "[(place) / 2u]"
            factor, factor_q15 = f"PRIMAL_FACTORS_F32{at}", f"PRIMAL_FACTORS_Q15{at}"
        product = "(x)" if factor == "1.0f" else f"primal_product(x, {factor})"
        self._define("SCALED(x, place)", product)
        product = f"(((x) * {factor_q15} + 16384) >> 15)" if factor_q15 else "(x)"
        self._define("SCALED_Q15(x, place)", product)

    def _phases(self) -> str:
        """Write the tables of the phases; return the template that reads them."""
        source = self.source
        if isinstance(source, PositionSensor):
            self._table("INCREMENTS", source.map.increments)
            return "static"
        if source.offsets is None:
            self._define("OFFSET(i)", "0u")
        else:
            self._table("OFFSETS", source.offsets)
            self._define("OFFSET(i)", "PRIMAL_OFFSETS[i]")
        scheme = source.scheme
        if isinstance(scheme, TableScheme):
            self._word(scheme.increments)
            self._define("SHIFT", 32 - 8 * scheme.increments.itemsize)
            self._table("INCREMENTS", scheme.increments)
            return "lsb"
        if isinstance(scheme, HadamardScheme):
            self._word(scheme.words)
            self._hadamard(scheme.signs, scheme.factors)
            if (scheme.words == scheme.words[0]).all():
                suffix = "ull" if scheme.words.itemsize == 8 else "u"
                self._define("STEP(j)", f"{scheme.words[0]}{suffix}")
            else:
                self._table("STEPS", scheme.words)
                self._define("STEP(j)", "PRIMAL_STEPS[j]")
            return "hadamard"
        if isinstance(scheme.table, HadamardTable):
            self._word(scheme.table.factors)
            self._hadamard(scheme.table.signs, scheme.table.factors)
            mantissa, exponent = np.frexp(scheme.table.scale)
            # |n| 2**-f c 2**64 = |n| mantissa 2**-shift
            self._define("SCALE", f"{int(np.ldexp(mantissa, 53))}ull")
            shift = 53 - int(exponent) - 64 + scheme.fraction_bits
            if not -64 < shift < 96:
                raise ParameterError(
                    "frequencies times scale are too large or too small for 64-bit words: use "
                    "kind='lsb32'."
                )
            self._define("SHIFT", shift)
            return "hadamard"
        self._digits(scheme, 2 if source.kind == "q15" else 3)
        return "exact"

    def _word(self, table: np.ndarray) -> None:
        self._lines.append(f"typedef {table.dtype.name}_t primal_word;")

    def _hadamard(self, signs: np.ndarray, factors: np.ndarray) -> None:
        n_rows = signs.shape[1]
        self._define("N_ROWS", f"{n_rows}u")
        self._define("N_BLOCKS", len(signs) // 2)
        self._define("WORD_BITS", 8 * factors.itemsize)
        packed = np.packbits(signs != 0, axis=1, bitorder="little").view("<u4")
        self._table("SIGNS", packed.astype(np.uint32))
        small = np.uint16 if factors.max() < 1 << 16 else np.uint32
        self._table("FACTORS", factors[: self.source.n_frequencies].astype(small))
        self.ram_bytes += n_rows * factors.itemsize * (1 + (len(signs) > 3))

    def _digits(self, scheme: ExactScheme, n_digits: int) -> None:
        width = 32 if n_digits == 2 else 21
        rest, digits = scheme.table.mantissas.astype(object), []
        for _ in range(n_digits - 1):
            low = ((rest + (1 << (width - 1))) & ((1 << width) - 1)) - (1 << (width - 1))
            digits.append(low)
            rest = (rest - low) >> width
        # One less than the shift to 2**-32 turn: the last bit decides the rounding.
        shifts = scheme.table.bits - 33 + scheme.fraction_bits - scheme.table.exponents
        if shifts.min() < 0 or shifts.max() > 127:
            raise ParameterError(
                "frequencies times scale are too large or too small for exact sums of 128 bits: "
                "use kind='lsb32'."
            )
        self._define("N_DIGITS", n_digits)
        self._define("DIGIT_BITS", width)
        self._table("SHIFTS", shifts.astype(np.uint8))
        self._table("DIGITS", np.stack([*digits, rest], axis=-1).astype(np.int32))

    def _waves(self) -> None:
        for name, values in (("COS", COSINE), ("SIN", SINE)):
            for place, value in enumerate(values):
                self._define(f"{name}_Q{place}", f"{value}u")

    def _readout(self, model: SensorModel) -> None:
        self._define("N_SCORES", f"{len(model.weights)}u")
        self._define("SCORE_UNIT", _float(model.score_unit))
        self._table("WEIGHTS", np.ascontiguousarray(model.weights.T))
        self._table("BIASES", model.biases)
        self.ram_bytes += model.biases.nbytes
        if model.labels is not None:
            listed = ", ".join(map(repr, model.labels.tolist()))
            self._lines.append(f"/* labels: {_in_comment(listed)} */")


def _in_comment(text: str) -> str:
    """Return text on one line that does not end the comment it stands in, or begin another.

    Characters that are not printed are escaped: compilers warn of some, and files hold no others.
    """
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in re.sub(r"\s+", " ", text))
    return line.replace("*/", "* /").replace("/*", "/ *")


def _float(value: float) -> str:
    """Return the shortest decimal literal of a float32."""
    text = str(np.float32(value))
    return f"{text}f" if re.search(r"[.e]", text) else f"{text}.0f"


def sensor_of(model: StaticPrime | SensorMap | SensorModel) -> SensorMap:
    """Return what makes the phases and features of a header."""
    if isinstance(model, StaticPrime):
        return PositionSensor(model)
    return model.sensor if isinstance(model, SensorModel) else model


def sample_rows(sensor: SensorMap, rows: range) -> np.ndarray:
    """Return the inputs that a self-test takes: multiples of sqrt(2), shape (n, d)."""
    d, bits = sensor.d, 8 * sensor.inputs.itemsize
    at = np.arange(rows.start * d + 1, rows.stop * d + 1, dtype=np.uint64)
    words = (at * np.uint64(_SQRT2)) >> np.uint64(64 - bits)
    n = words.astype(f"uint{bits}").view(sensor.inputs).reshape(-1, d)
    return n >> sensor.inputs.type(_sample_shift(sensor))


def _sample_shift(sensor: SensorMap) -> int:
    """Return how many bits less of an input keep phases below the limit of the map."""
    if isinstance(sensor, PositionSensor) or not isinstance(sensor.scheme, ExactScheme):
        return 0
    largest = 2.0 ** (8 * sensor.inputs.itemsize - 1 - sensor.scheme.fraction_bits)
    turns = largest * sensor.table.largest_l1_norm
    return max(0, int(np.ceil(np.log2(turns))) - sensor.table.log2_turns)


def golden_digests(model: StaticPrime | SensorMap | SensorModel, rows: range) -> list[int]:
    """Return the five digests of a self-test over some of its rows."""
    sensor = sensor_of(model)
    n = sample_rows(sensor, rows)
    outputs = [sensor.turns(n), sensor.encode(n).view(np.uint32)]
    outputs += [sensor.encode_q15(n).view(np.uint16), sensor.encode_bits(n)]
    scores = model.scores(n).view(np.uint32) if isinstance(model, SensorModel) else np.zeros(0)
    return [_digest(values) for values in (*outputs, scores)]


def _digest(values: np.ndarray) -> int:
    """Return sum_i values_i a**(N - 1 - i) mod 2**32: one wrong value always shows."""
    flat = values.ravel().astype(np.uint32)
    powers = np.full(flat.size, _DIGEST, dtype=np.uint32)
    powers[:1] = 1
    np.multiply.accumulate(powers, out=powers)
    return int((flat[::-1] * powers).sum(dtype=np.uint32))
