"""The text of a header: templates in plain C, constants and tables of integers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from primal.bases import HadamardTable
from primal.edge._golden import golden_digests, sample_shift
from primal.edge._q15 import COSINE, SINE
from primal.edge._readout import SensorModel, learned_length
from primal.edge._schemes import ExactScheme, HadamardScheme, TableScheme
from primal.edge._sensors import SensorMap
from primal.errors import ParameterError
from primal.maps import StaticPrime
from primal.turns import FREQUENCY_BITS, Cosine32, Sine32

_TEMPLATES = Path(__file__).parent / "c"
_GOLDEN_ROWS = 4
_PER_LINE = 96  # characters


class Header:
    """The parts of a header and their sizes."""

    def __init__(self, model: StaticPrime | SensorMap | SensorModel, n_learned: int) -> None:
        self.model = model if isinstance(model, SensorModel) else None
        self.source = model.sensor if isinstance(model, SensorModel) else model
        self.n_learned = n_learned
        if self.model is not None and n_learned:
            raise ParameterError(
                f"learn={n_learned} is for a map without read-out: pass model.sensor."
            )
        self.table_bytes = self.ram_bytes = 0
        self._lines: list[str] = []

    def text(self) -> str:
        source = self.source
        self._define("N_INPUTS", 1 if isinstance(source, StaticPrime) else source.d)
        self._shape()
        parts = ["head", self._phases(), "waves", "features"]
        self._waves()
        if self.model is not None:
            parts += ["readout", "model"]
            self._readout(self.model)
        elif self.n_learned:
            parts += ["readout", "learn"]
            self._define("N_SCORES", self.n_learned)
            self._define("LEARNED_LENGTH", learned_length(source.D))
        self._define("SAMPLE_SHIFT", sample_shift(source))
        self._define("N_GOLDEN", f"{_GOLDEN_ROWS}u")
        digests = golden_digests(self.model or source, range(_GOLDEN_ROWS))
        self._define("GOLDEN", f"{{{', '.join(f'{value}u' for value in digests)}}}")
        templates = {part: (_TEMPLATES / f"{part}.h").read_text() for part in (*parts, "selftest")}
        title = re.sub(r"\s+", " ", repr(self.model or source)).replace("*/", "")[:90]
        return "\n".join(
            [
                f"/* {title}\n   Written by primal.edge.export_c: the bits are those of Python. */",
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

    def _table(self, name: str, values: np.ndarray) -> None:
        """Write a constant table in the type of its values."""
        kind = f"{values.dtype.name}_t"
        suffix = {"uint64": "ull", "uint32": "u"}.get(values.dtype.name, "")
        self._lines.append(f"static const {kind} PRIMAL_{name}[{values.size}] = {{")
        self._lines.extend(_wrapped(f"{value}{suffix}," for value in values.ravel().tolist()))
        self._lines.append("};")
        self.table_bytes += values.nbytes

    def _shape(self) -> None:
        source = self.source
        if isinstance(source, StaticPrime):
            k = n_sines = source.D // 2
            layout, inputs, amplitude = source.layout, "int64", 1.0
        else:
            k = source.table.shape[0]
            n_sines, layout = source.D - k, source.finish.layout
            inputs, amplitude = source.inputs.name, float(source.finish.amplitude)
        self._lines.append(f"typedef {inputs}_t primal_input;")
        self._define("N_FREQUENCIES", f"{k}u")
        self._define("N_FEATURES", f"{source.D}u")
        has_sine = {0: "0", k: "1"}.get(n_sines, f"((i) < {n_sines}u)")
        self._define("HAS_SINE(i)", has_sine)
        if layout == "block" or n_sines == 0:
            cos, sin = "(i)", f"({k}u + (i))"
        else:
            cos, sin = "(2u * (i))", "(2u * (i) + 1u)"
            if n_sines < k:
                cos = f"((i) < {n_sines}u ? 2u * (i) : {n_sines}u + (i))"
        self._define("COS_PLACE(i)", cos)
        self._define("SIN_PLACE(i)", sin)
        factor = "(x)" if amplitude == 1.0 else f"primal_product(x, {_float(amplitude)})"
        self._define("AMPLIFIED(x)", factor)

    def _phases(self) -> str:
        """Write the tables of the phases; return the template that reads them."""
        source = self.source
        if isinstance(source, StaticPrime):
            self._table("INCREMENTS", source.increments)
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
        k = self.source.table.shape[0]  # type: ignore[union-attr]
        small = np.uint16 if factors.max() < 1 << 16 else np.uint32
        self._table("FACTORS", factors[:k].astype(small))
        self.ram_bytes += n_rows * factors.itemsize * (1 + (len(signs) > 3))

    def _digits(self, scheme: ExactScheme, n_digits: int) -> None:
        width = 32 if n_digits == 2 else 21
        rest, digits = scheme.table.mantissas.astype(object), []
        for _ in range(n_digits - 1):
            low = ((rest + (1 << (width - 1))) & ((1 << width) - 1)) - (1 << (width - 1))
            digits.append(low)
            rest = (rest - low) >> width
        # One less than the shift to 2**-32 turn: the last bit decides the rounding.
        shifts = FREQUENCY_BITS - 33 + scheme.fraction_bits - scheme.table.exponents
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
        for place, value in enumerate(Cosine32.coefficients):
            self._define(f"COS{place}", _float(value))
        for place, value in enumerate(Sine32.coefficients):
            self._define(f"SIN{place}", _float(value))
        named = (("HEAD", Sine32.head), ("REST", Sine32.rest), ("WHOLE", Sine32.whole))
        for name, value in (*named, ("UNIT", 2.0**-29)):
            self._define(name, _float(value))
        self._define("TAIL", f"{(1 << Sine32.tail_bits) - 1}u")
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
            listed = ", ".join(str(label) for label in model.labels.tolist()).replace("*/", "")
            self._lines.append(f"/* labels: {listed} */")


def _float(value: float) -> str:
    """Return the shortest decimal literal of a float32."""
    text = str(np.float32(value))
    return f"{text}f" if re.search(r"[.e]", text) else f"{text}.0f"


def _wrapped(words: Iterable[str]) -> Iterable[str]:
    line = "   "
    for word in words:
        if len(line) + len(word) >= _PER_LINE:
            yield line
            line = "   "
        line += f" {word}"
    yield line
