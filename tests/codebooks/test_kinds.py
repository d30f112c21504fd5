"""Every kind: its codes, its certificate against brute force, its spec, its errors."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import primal
from primal import from_spec
from primal.codebooks import KINDS, Codebook, bounds, codebook, gram_statistics
from primal.codebooks._binary_codes import (
    DelsarteGoethals,
    Gold,
    Kerdock,
    binary_field,
    walsh_spectrum,
)
from primal.codebooks._certificate import Evidence
from primal.codebooks._numbers import is_prime, prime_at_least, prime_at_most, primitive_root
from primal.codebooks._rational import difference_set, rational_turns

# N and D of every kind and field, chosen so that the last basis, or the pair, is not whole.
CASES = [
    ("orthonormal", "real", 16, 16),
    ("orthonormal", "real", 11, 15),
    ("orthonormal", "complex", 7, 7),
    ("static", "real", 150, 16),
    ("static", "complex", 150, 9),
    ("shadow", "real", 60, 14),
    ("shadow", "complex", 30, 9),
    ("kerdock", "real", 12, 4),
    ("kerdock", "real", 144, 16),
    ("kerdock", "real", 77, 19),
    ("gold", "real", 72, 8),
    ("gold", "real", 101, 32),
    ("delsarte-goethals", "real", 1040, 16),
    ("delsarte-goethals", "real", 135, 16),
    ("singer", "real", 114, 16),
    ("singer", "real", 25, 9),
    ("singer", "complex", 57, 8),
    ("singer", "complex", 40, 9),
    ("paley", "real", 29, 14),
    ("paley", "real", 25, 15),
]


def build(kind, field, N, D):
    return codebook(N, D, kind=kind, field=field, steps=200 if kind == "shadow" else None)


@pytest.mark.parametrize(("kind", "field", "N", "D"), CASES)
def test_certificate_equals_brute_force(kind, field, N, D):
    cb = build(kind, field, N, D)
    assert (cb.kind, cb.field, cb.N, cb.D, len(cb)) == (kind, field, N, D, N)
    wide = "complex128" if field == "complex" else "float64"
    z = cb.encode(np.arange(N), dtype=wide)
    assert np.abs(np.linalg.norm(z, axis=1) - 1).max() < 1e-12
    found, claim = gram_statistics(z), cb.certificate
    assert claim.coherence == pytest.approx(found.coherence, abs=1e-12)
    # The square of the RMS is a small difference of sums of size N.
    assert claim.rms**2 == pytest.approx(found.rms**2, abs=1e-14)
    if claim.pair is not None:
        i, j = claim.pair
        assert 0 <= i < j < N
        assert abs(z[i].conj() @ z[j]) == pytest.approx(claim.coherence, abs=1e-12)
    else:
        assert claim.coherence == 0.0
    assert claim.coherence >= claim.best_bound - 1e-12
    assert claim.welch == bounds.welch(N, D)
    assert cb.verify(full=True).ok
    assert cb.verify(500).ok


@pytest.mark.parametrize(("kind", "field", "N", "D"), CASES)
def test_any_codes_without_the_rest(kind, field, N, D):
    cb = build(kind, field, N, D)
    z = cb.encode(range(N))
    assert z.dtype == (np.complex64 if field == "complex" else np.float32)
    assert np.array_equal(cb[3], z[3])
    assert np.array_equal(cb[-1], z[-1])
    assert np.array_equal(cb[2:9:3], z[2:9:3])
    assert np.array_equal(cb[[5, 1, 5]], z[[5, 1, 5]])
    assert cb.encode(np.array([[1, 2], [0, 4]])).shape == (2, 2, D)
    wide = cb.encode(range(N), dtype="complex128" if field == "complex" else "float64")
    assert np.abs(wide - z).max() < 3e-7


@pytest.mark.parametrize(("kind", "field", "N", "D"), CASES)
def test_spec_round_trip(kind, field, N, D):
    cb = build(kind, field, N, D)
    again = from_spec(json.loads(json.dumps(cb.spec)))
    assert again == cb
    assert hash(again) == hash(cb)
    assert np.array_equal(again[:5], cb[:5])
    assert again.certificate == cb.certificate
    for listed in (v for v in cb.spec.values() if isinstance(v, list)):
        listed.clear()
    assert cb.spec == again.spec


@pytest.mark.parametrize(
    ("kind", "field", "N", "D"),
    [
        ("singer", "real", 26, 8),
        ("paley", "real", 29, 14),
        ("gold", "real", 72, 8),
        ("delsarte-goethals", "real", 300, 16),
    ],
)
def test_certificates_hold_for_every_smaller_n(kind, field, N, D):
    """Codes keep their numbers when N shrinks, so one Gram matrix judges every N."""
    wide = "complex128" if field == "complex" else "float64"
    cb = codebook(N, D, kind=kind, field=field)
    z = cb.encode(range(N), dtype=wide)
    gram = np.abs(z.conj() @ z.T)
    np.fill_diagonal(gram, 0.0)
    for n in range(2, N, 7 if N > 100 else 1):
        claim = from_spec(cb.spec | {"N": n}).certificate
        assert claim.coherence == pytest.approx(gram[:n, :n].max(), abs=1e-12)
        assert claim.rms**2 == pytest.approx(
            np.square(gram[:n, :n]).sum() / (n * (n - 1)), abs=1e-13
        )
        if claim.pair is not None:
            assert gram[claim.pair] == pytest.approx(claim.coherence, abs=1e-12)
            assert max(claim.pair) < n


def test_every_kind_has_a_case():
    assert {case[0] for case in CASES} == set(KINDS)


@pytest.mark.parametrize("m", [2, 4, 6, 8])
def test_kerdock_is_exact_for_every_pair_of_forms(m):
    """All |cosines| between different bases are 1 / sqrt(D): exhaustive up to D = 256."""
    codes = Kerdock((1 << (2 * m - 1)) + (1 << m), 1 << m)
    forms = np.array([codes.form(j) for j in range(1 << (m - 1))])
    for i in range(len(forms) - 1):
        differences = 1 - 2 * (forms[i + 1 :] ^ forms[i]).astype(np.int64)
        assert (np.abs(walsh_rows(differences)) == 1 << (m // 2)).all()


def walsh_rows(rows):
    half = 1
    n, size = rows.shape
    while half < size:
        pairs = rows.reshape(n, -1, 2, half)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        rows = rows.reshape(n, size)
        half *= 2
    return rows


@pytest.mark.parametrize("m", [3, 5, 7])
def test_gold_forms_have_two_sizes(m):
    codes = Gold(1 << m, 1 << m)
    for j in range(1, 1 << m):  # forms are linear in j: every difference is one of these
        sizes = set(np.abs(walsh_spectrum(codes.form(j))).tolist())
        assert sizes == {0, 1 << ((m + 1) // 2)}
    assert np.array_equal(codes.form(3) ^ codes.form(5), codes.form(3 ^ 5))


def test_delsarte_goethals_forms_have_three_sizes():
    codes = DelsarteGoethals(1, 16)
    forms = [codes.form(j) for j in range(64)]
    sizes = set()
    for i in range(64):
        for j in range(i):
            sizes |= set(np.abs(walsh_spectrum(forms[i] ^ forms[j])).tolist())
    assert sizes == {0, 4, 8}


def test_kerdock_in_full_attains_levenshtein():
    for D in (16, 64, 256):
        N = D * D // 2 + D
        found = codebook(N, D, kind="kerdock").certificate
        assert found.coherence == 1 / math.sqrt(D)
        assert found.levenshtein == pytest.approx(found.coherence, abs=1e-12)
        assert found.rms == pytest.approx(found.welch, abs=1e-12)


def test_known_difference_sets():
    assert difference_set(2) == (0, 1, 5)
    assert difference_set(5) == (0, 1, 15, 19, 21, 24)
    assert difference_set(31)[:8] == (0, 1, 40, 83, 158, 176, 202, 230)


@pytest.mark.parametrize(("q", "N"), [(7, 57), (31, 993), (127, 16_257)])
def test_singer_attains_the_complex_welch_bound(q, N):
    found = codebook(N, q + 1, kind="singer", field="complex").certificate
    assert found.coherence == pytest.approx(math.sqrt(q) / (q + 1), abs=1e-15)
    assert found.ratio == pytest.approx(1.0, abs=1e-12)
    indicator = np.zeros(N)
    indicator[list(difference_set(q))] = 1
    assert np.abs(np.fft.fft(indicator))[1:] == pytest.approx(math.sqrt(q), abs=1e-6)


def test_paley_closed_form():
    found = codebook(257, 128, kind="paley").certificate
    assert found.coherence == pytest.approx(1 / (math.sqrt(257) - 1), abs=1e-15)
    assert found.ratio == pytest.approx((math.sqrt(257) + 1) / math.sqrt(258), abs=1e-12)
    assert codebook(250, 128, kind="paley").certificate.ratio == pytest.approx(1.075, abs=5e-4)


def test_bipolar_codes_have_signs():
    for kind, N, D in (("kerdock", 128, 16), ("gold", 64, 8), ("orthonormal", 8, 8)):
        cb = codebook(N, D, kind=kind)
        assert cb.bipolar
        signs = cb.encode(range(N), dtype="int8")
        assert signs.dtype == np.int8
        assert set(np.unique(signs).tolist()) == {-1, 1}
        wide = cb.encode(range(N), dtype="float64")
        assert np.abs(signs / math.sqrt(D) - wide).max() < 1e-15
    for cb in (codebook(144, 16, kind="kerdock"), codebook(100, 20, kind="kerdock")):
        assert not cb.bipolar  # the standard basis, or padding, has zeros
        with pytest.raises(primal.errors.ParameterError, match="not bipolar"):
            cb.encode([0], dtype="int8")


def test_static_codes_are_those_of_static_prime():
    s = primal.StaticPrime(64, layout="interleaved")
    cb = codebook(1000, 64, kind="static")
    exact = s.waves(1000) * np.float32(1 / math.sqrt(32))
    assert np.array_equal(cb[:], exact)


def test_static_codes_grow():
    cb = codebook(50, 16, kind="static")
    more = cb.grow(N=500)
    assert np.array_equal(more[:50], cb[:])
    wider = cb.grow(D=64)
    assert np.abs(wider[:50][:, :16] * 2 - cb[:]).max() < 1e-6  # sqrt(64 / 16) = 2
    assert wider.spec["start"] == cb.spec["start"]
    with pytest.raises(primal.errors.ParameterError, match="N = 50 cannot grow to 20"):
        cb.grow(N=20)
    with pytest.raises(primal.errors.ParameterError, match="cannot grow"):
        codebook(100, 16, kind="kerdock").grow(N=120)


class Stored(Codebook):
    """The codes of a matrix, with a certificate that need not be theirs."""

    kind = "static"

    def __init__(self, matrix, coherence):
        super().__init__(*matrix.shape, "real")
        self.matrix, self.coherence = matrix, coherence

    def _write(self, indices, out):
        out[:] = self.matrix[indices]

    def _evidence(self):
        return Evidence(self.coherence, (0, 1), "closed form: none")

    def _rms(self):
        return 0.0


def test_a_wrong_certificate_does_not_verify():
    cb = Stored(codebook(50, 8, kind="static").encode(range(50), dtype="float64"), 0.01)
    assert not cb.verify(2000).ok
    assert not cb.verify(full=True).ok


def test_orthogonal_codes_verify():
    cb = codebook(2, 40, kind="singer")
    assert cb.certificate.rms <= cb.certificate.coherence < 1e-9
    assert cb.verify(full=True).ok


def test_codes_that_are_not_numbers_do_not_verify():
    matrix = codebook(50, 8, kind="static").encode(range(50), dtype="float64")
    matrix[7, 3] = np.nan
    assert not Stored(matrix, 1.0).verify(2000).ok


def test_indices_that_are_missing_are_refused():
    indices = np.ma.array([1, 2], mask=[True, False])
    with pytest.raises(primal.errors.DataError, match="indices is masked: 1 of 2"):
        codebook(50, 8).encode(indices)


def test_fractions_beyond_32_bits_are_refused():
    numerators = np.arange(3, dtype=np.uint64)
    assert rational_turns(numerators, 2**32 - 1)[2] == 2 * 2**64 // (2**32 - 1)
    with pytest.raises(primal.errors.ParameterError, match=r"below 2\*\*32, got 4294967296"):
        rational_turns(numerators, 2**32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"N": 0, "D": 8}, "N must be at least 1, got 0"),
        ({"N": 8, "D": -2}, "D must be at least 1, got -2"),
        ({"N": 2.5, "D": 8}, "N must be a whole number, got 2.5"),
        ({"N": 20, "D": 7, "kind": "static"}, "use 6 or 8"),
        ({"N": 9, "D": 8, "kind": "orthonormal"}, "use N up to 8 or D = 9"),
        ({"N": 200, "D": 16, "kind": "kerdock"}, "N up to 144, or D = 64, which holds 2112"),
        ({"N": 20, "D": 3, "kind": "kerdock"}, "use D = 4"),
        ({"N": 80, "D": 8, "kind": "gold"}, "N up to 72, or D = 32, which holds 1056"),
        ({"N": 2000, "D": 16, "kind": "delsarte-goethals"}, "N up to 1040, or D = 64"),
        ({"N": 5000, "D": 64, "kind": "singer"}, "N up to 1986, or a larger D"),
        ({"N": 300, "D": 128, "kind": "paley"}, "N up to 257, or D = 156, which holds 313"),
        ({"N": 60, "D": 9, "kind": "shadow", "field": "complex"}, "N up to 57"),
        ({"N": 10_000, "D": 10, "kind": "shadow"}, "use D = 12, or kind='static'"),
        ({"N": 60, "D": 9, "kind": "gold", "field": "complex"}, "real codes only"),
        ({"N": 60, "D": 9, "kind": "goldd"}, "'gold', .*got 'goldd'"),
        ({"N": 60, "D": 9, "field": "quaternion"}, "got 'quaternion'"),
        ({"N": 3, "D": 1}, "use D = 2 or N = 1"),
    ],
)
def test_bad_requests_name_what_would_work(arguments, message):
    N, D = arguments.pop("N"), arguments.pop("D")
    with pytest.raises(primal.PrimalError, match=message):
        codebook(N, D, **arguments)


def test_bad_indices_and_types_are_refused():
    cb = codebook(10, 8, kind="static")
    with pytest.raises(primal.errors.DataError, match=r"\[0, 10\), got 10"):
        cb.encode([3, 10])
    with pytest.raises(primal.errors.DataError, match="got -1"):
        cb.encode(-1)
    with pytest.raises(primal.errors.DataError, match="float64"):
        cb.encode([0.5])
    with pytest.raises(primal.errors.ParameterError, match="'complex64'"):
        cb.encode([0], dtype="complex64")
    with pytest.raises(primal.errors.ParameterError, match="at least -10, got -11"):
        cb[-11]
    assert cb.encode([]).shape == (0, 8)
    assert np.array_equal(list(cb), cb[:])


def test_specs_that_do_not_fit_are_refused():
    spec = codebook(60, 16, kind="shadow", steps=50).spec
    for wrong in (
        spec | {"version": 2},
        spec | {"extra": 1},
        {name: value for name, value in spec.items() if name != "view"},
        spec | {"kind": "polished"},
        spec | {"primes": [2, 2]},
        spec | {"primes": list(range(2, 100))},
        spec | {"primes": "2, 3"},
        spec | {"type": "StaticPrime"},
        spec | {"view": "phasor"},
        spec | {"N": 0},
        spec | {"field": "rational"},
    ):
        with pytest.raises(primal.PrimalError):
            from_spec(wrong)
    with pytest.raises(primal.errors.SpecError):
        from_spec("spec")
    with pytest.raises(primal.errors.SpecError, match="start must be at least 0, got -1"):
        from_spec(codebook(10, 8, kind="static").spec | {"start": -1})
    with pytest.raises(primal.errors.SpecError, match="must be prime, got 9"):
        from_spec(spec | {"primes": [2, 3, 9]})


def test_one_code_is_a_codebook():
    for kind in ("auto", "static", "kerdock", "singer", "shadow"):
        cb = codebook(1, 16, kind=kind)
        assert cb.certificate.coherence == 0.0
        assert cb.certificate.pair is None
        assert cb.verify().ok


def test_number_theory_helpers():
    sieve = set(primal.primes(1229).tolist())
    assert all(is_prime(n) == (n in sieve) for n in range(10_000))
    assert not is_prime(3_215_031_751)
    assert is_prime(4_294_967_291)
    assert prime_at_most(100, residue=1, modulus=4) == 97
    assert prime_at_most(1) is None
    assert prime_at_least(90) == 97
    for p in (2, 3, 7, 101, 10_753):
        powers = {pow(primitive_root(p), i, p) for i in range(p - 1)}
        assert len(powers) == p - 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11])
def test_binary_fields(n):
    field = binary_field(n)
    assert sorted(field.exp.tolist()) == list(range(1, 1 << n))
    if n > 1:  # the trace is linear and balanced
        assert field.trace.sum() == 1 << (n - 1)
    a, b = 3 % (1 << n), (1 << n) - 1
    assert field.trace[a ^ b] == field.trace[a] ^ field.trace[b]
    cubes = field.power(3)
    assert np.array_equal(field.scaled(int(cubes[b]))[1], cubes[b])


def test_importing_codebooks_loads_nothing_heavy():
    code = "import sys, primal.codebooks as c; c.codebook(100, 16).certificate; print(*sys.modules)"
    environment = os.environ | {"PRIMAL_ENGINE": "numpy"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"scipy", "matplotlib", "click", "pyarrow", "torch", "sklearn"}
    assert "numpy" in loaded
