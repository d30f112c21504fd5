"""Every instruction-set level of the C core, and an emulated ARM, equal the NumPy definition."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_core import require_core
from vector_rows import COLUMNS, KINDS, given, rows_of

from primal import native
from primal.vectors import Index, VectorCodes, _compute
from primal.vectors import _definition as definition

SOURCES = Path(native.__file__).parent
SHAPES = [*COLUMNS, 2, 7, 17, 65, 100, 129, 8192]


@pytest.fixture(params=native.levels() or ("none",))
def level(request, monkeypatch):
    require_core()
    monkeypatch.setattr(_compute, "_native", lambda: native.core(request.param))


def oracle(monkeypatch):
    monkeypatch.setattr(_compute, "_native", lambda: None)


def same_bytes(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("d", SHAPES)
def test_codes_equal_the_definition(level, d, monkeypatch):
    some = KINDS if d < 1000 else KINDS[::5]
    cases = [
        (VectorCodes(d, bits, metric, center=given(d, metric, centered)[1]), given(d, metric, True))
        for bits, metric, centered in some
    ]
    found = [codes.encode(x) for codes, (x, _) in cases]
    oracle(monkeypatch)
    for (codes, (x, _)), rows in zip(cases, found, strict=True):
        same_bytes(rows, codes.encode(x))


@pytest.mark.parametrize("exponent", [-1070, -1000, -500, 400, 900, 1020])
def test_float64_rows_of_any_size(level, exponent, monkeypatch):
    x = rows_of(10, 50)
    x = np.ldexp(x[[0, 2, 3, 8, 9]], exponent)
    found = VectorCodes(50).encode(x)
    turn = definition.rotation(50)
    rotated = _compute.rotate(x, turn, None, "l2")
    oracle(monkeypatch)
    same_bytes(found, VectorCodes(50).encode(x))
    same_bytes(rotated, _compute.rotate(x, turn, None, "l2"))


@pytest.mark.parametrize("d", SHAPES)
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_scores_and_rows_equal_the_definition(level, d, bits, monkeypatch):
    """Also of short last vectors, ties, masks and all rows; 1, 2, 3, 4 and 5 queries."""
    n = 150 if d < 1000 else 40
    x = rows_of(n, d)
    x[5:8], x[20:30] = x[8:11], x[15]
    index = Index(VectorCodes(d, bits, "l2").fit(x))
    index.add(x)
    mask = np.arange(n) % 3 == 2
    jobs = [(x[:m], k, among) for m, k, among in [(1, 9, None), (2, n, None), (3, 12, mask)]]
    jobs += [(x[10:14], 1, None), (x[10:15], 30, None)]
    found = [index.search(q, k, among=among) for q, k, among in jobs]
    oracle(monkeypatch)
    for (q, k, among), neighbors in zip(jobs, found, strict=True):
        same_bytes(neighbors, index.search(q, k, among=among))


def test_levels_and_queries_of_the_largest_size_do_not_overflow(level, monkeypatch):
    """Rows and queries of equal entries after rotation have the largest inner products."""
    for d, bits in ((8, 8), (256, 4), (256, 1), (8192, 8), (8192, 4), (8192, 1)):
        turn = definition.rotation(d)
        words = np.full((1, d), 2047 if bits == 8 else 127)
        levels = np.full((3, turn.D * bits // 8), 255, dtype=np.uint8)
        levels[1] = 0 if bits < 8 else 1
        one = np.ones(3, dtype=np.float32)
        query = _compute.Query(words, _compute.packed(words, bits), np.ones(1), np.zeros(1))
        found = _compute.best([_compute.nearest(query, (levels, one, one), bits, 3)], 3)
        oracle(monkeypatch)
        same_bytes(found, _compute.nearest(query, (levels, one, one), bits, 3))
        top = {1: 1, 4: 64, 8: 127}[bits] * int(words[0, 0]) * d
        assert found[0].tolist() == [[1.0 - top, 1.0 - top, 1.0 + top]]
        monkeypatch.undo()


def test_no_byte_beyond_the_last_row_is_read(level):
    """The last row may end where a mapped file ends."""
    x = rows_of(38, 100)[8:]
    codes = VectorCodes(100, 4, "l2")
    index = Index(codes)
    index.add(x)
    expected = index.search(x[3], 5)
    guarded = np.full(1 << 20, 255, dtype=np.uint8)
    part = index._parts[0]
    for start in (0, 1, 63):
        place = guarded[start : start + part[0].size].reshape(part[0].shape)
        place[:] = part[0]
        index._parts = [(place, *part[1:])]
        same_bytes(index.search(x[3], 5), expected)


PROGRAM = r"""
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
int primal_vectors_rotate_base(const double *, int64_t, int64_t, int64_t, int64_t, const int8_t *,
                               const float *, int64_t, int32_t *, int32_t *, int64_t *, double *);
int primal_vectors_code_base(const int32_t *, const int32_t *, const int64_t *, int64_t, int64_t,
                             double, int64_t, uint8_t *, float *);
int primal_vectors_nearest_base(const uint8_t *, const float *, const float *, int64_t, int64_t,
                                int64_t, const int8_t *, const double *, int64_t, int64_t, int64_t,
                                double *, int64_t *);
static void *get(FILE *f, size_t n)
{
    void *p = malloc(n + 1);
    if (fread(p, 1, n, f) != n)
        exit(2);
    return p;
}
int main(int argc, char **argv)
{
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
    int64_t h[12]; /* n, d, m, r, centered, metric, bits, queries, padded, bytes of q, k */
    (void)argc;
    while (fread(h, 8, 12, in) == 12) {
        int64_t n = h[0], d = h[1], D = h[2] * h[3], size = D * h[6] / 8, k = h[10];
        double *x = get(in, 8 * n * d);
        int8_t *signs = get(in, 3 * D), *q;
        float *center = get(in, 4 * d), *f = malloc(4 * n), *a = malloc(4 * n);
        int32_t *y = malloc(4 * n * D), *t = malloc(4 * n);
        int64_t *squares = malloc(8 * n), *rows = malloc(8 * k * h[7]);
        double *offsets = malloc(8 * n), *scores = malloc(8 * k * h[7]), *twice;
        uint8_t *codes = malloc(n * size);
        q = get(in, h[9]);
        twice = get(in, 8 * h[7]);
        primal_vectors_rotate_base(x, n, d, h[2], h[3], signs, h[4] ? center : 0, h[5], y, t,
                                   squares, offsets);
        primal_vectors_code_base(y, t, squares, n, D, (double)(h[2] * h[2] * h[2]), h[6], codes, f);
        for (int64_t i = 0; i < n; i++)
            a[i] = (float)offsets[i];
        for (int64_t i = 0; i < k * h[7]; i++)
            scores[i] = 1.0 / 0.0;
        primal_vectors_nearest_base(codes, f, a, n, size, h[6], q, twice, h[7], h[8], k, scores,
                                    rows);
        fwrite(codes, 1, n * size, out), fwrite(f, 4, n, out), fwrite(a, 4, n, out);
        fwrite(scores, 8, k * h[7], out), fwrite(rows, 8, k * h[7], out);
    }
    return fclose(out);
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "aarch64-linux-gnu-gcc"])
def test_other_processors_equal_the_definition(compiler, tmp_path, monkeypatch):
    """`base` by itself, for this machine and for ARM under QEMU."""
    emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] if "aarch64" in compiler else []
    for program in (compiler, *emulator[:1]):
        if not shutil.which(program):
            pytest.skip(f"{program} was not found: run tools/install_targets.sh")
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = [
        "-std=gnu99",
        "-O3",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-DLEVEL=base",
        "-I",
        SOURCES,
        "-Wno-psabi",
    ]
    sources = [tmp_path / "main.c", SOURCES / "vectors.c", SOURCES / "nearest.c"]
    command = [compiler, *flags, *sources, "-o", tmp_path / "main"]
    subprocess.run(command, check=True, timeout=300)
    oracle(monkeypatch)
    jobs, expected = [], []
    for d in (*COLUMNS, 17, 129):
        for bits, metric, centered in KINDS if d < 400 else KINDS[d % 5 :: 5]:
            x, center = given(d, metric, centered)
            codes, turn = VectorCodes(d, bits, metric, center=center), definition.rotation(d)
            query = codes._query(x[:5])
            head = [10, d, turn.m, turn.r, centered, _compute._METRICS.index(metric), bits]
            head += [5, query.packed.shape[2], query.packed.nbytes, 7, 0]
            mean = np.zeros(d, dtype=np.float32) if center is None else center
            parts = (np.array(head), x, turn.signs, mean, query.packed, query.twice)
            jobs += [part.tobytes() for part in parts]
            rows = codes.encode(x)
            expected.append((rows, _compute.nearest(query, tuple(rows), bits, 7)))
    (tmp_path / "in").write_bytes(b"".join(jobs))
    command = [*emulator, tmp_path / "main", tmp_path / "in", tmp_path / "out"]
    subprocess.run(command, check=True, timeout=300)
    content, place = (tmp_path / "out").read_bytes(), 0
    for rows, neighbors in expected:
        for array in rows:
            assert content[place : place + array.nbytes] == array.tobytes()
            place += array.nbytes
        found = (
            np.frombuffer(content, "<f8", 35, place),
            np.frombuffer(content, "<i8", 35, place + 280),
        )
        same_bytes(_compute.best([tuple(part.reshape(5, 7) for part in found)], 7), neighbors)
        place += 560
    assert place == len(content)
