"""The Numba engine: the oracle's operations in compiled loops over cache-sized rows."""

from __future__ import annotations

import numpy as np

from primal.bases import FrequencyTable
from primal.engines import _numba_kernels as kernels
from primal.engines._numpy import NumpyEngine, row_blocks
from primal.engines._threads import over_rows
from primal.turns._digits import row_exponents, term_shift, x_digits

__all__ = ["NumbaEngine"]

# Entries of the product matrix in one block (eight bytes each): large enough for an efficient
# matrix product, small enough to stay in the second-level cache.
_BLOCK_PRODUCTS = 1 << 18
# Fewer phases than this are not worth a second thread.
_LEAST_PHASES = 1 << 14


class NumbaEngine(NumpyEngine):
    """Same contract as the NumPy engine; float64 output and deep phases fall back to it."""

    name = "numba"

    def static(
        self, increments: np.ndarray, positions: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        if out.dtype != np.float32:
            super().static(increments, positions, out, layout)
            return
        block = layout == "block"
        k = len(increments)

        def work(first: int, last: int) -> None:
            kernels.static(increments, positions[first:last], out[first:last], block)

        over_rows(len(positions), max(1, _LEAST_PHASES // k), work)

    def dynamic(self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, layout: str) -> None:
        if out.dtype != np.float32:
            super().dynamic(table, x, out, layout)
            return
        k = table.shape[0]
        a = row_exponents(x)
        # Blocks in which some phase needs the deep sum go to the oracle.
        near_row = a <= table.level_row_exponents[0].min()
        for rows in row_blocks(len(x), 2 * k, _BLOCK_PRODUCTS):
            if near_row[rows].all():
                self._near(table, x[rows], a[rows], out[rows], layout)
            else:
                super().dynamic(table, x[rows], out[rows], layout)

    def _near(
        self,
        table: FrequencyTable,
        x: np.ndarray,
        a: np.ndarray,
        out: np.ndarray,
        layout: str,
    ) -> None:
        k, widths = table.shape[0], table.widths
        (digit,) = x_digits(x, a, widths.x, 1)
        products = digit @ table.near_digits
        first_shift, second_shift = (term_shift(widths, term) for term in widths.levels[0])
        block = layout == "block"

        def work(first: int, last: int) -> None:
            kernels.near(
                products[first:last],
                a[first:last],
                table.exponents,
                first_shift,
                second_shift,
                out[first:last],
                block,
            )

        over_rows(len(x), max(1, _LEAST_PHASES // k), work)

    def dynamic_fast(
        self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        k = table.shape[0]
        block = layout == "block"
        for rows in row_blocks(len(x), k, _BLOCK_PRODUCTS):
            phases, target = x[rows] @ table.transposed, out[rows]

            def work(
                first: int, last: int, phases: np.ndarray = phases, target: np.ndarray = target
            ) -> None:
                kernels.fast(phases[first:last], target[first:last], block)

            over_rows(len(phases), max(1, _LEAST_PHASES // k), work)
