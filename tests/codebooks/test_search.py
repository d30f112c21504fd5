"""Searches for shadows, and the rule ``auto``."""

import math
import time

import numpy as np
import pytest

import primal
from primal import from_spec
from primal.codebooks import bounds, codebook
from primal.codebooks._auto import candidates
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._cyclotomic import cyclotomic_target
from primal.codebooks._numbers import ShadowError, shadow_primes
from primal.codebooks._phase_codes import Static
from primal.codebooks._shadow import Shadow, shipped_design, shipped_lines
from primal.errors import ParameterError

# Ratios of cyclotomic shadows to Welch's bound, as first measured; designs must not be worse
# by more than 0.02.
SHADOW_RATIOS = {
    (100, 16): 1.50, (250, 16): 1.82, (500, 16): 2.01, (1000, 16): 2.20, (2000, 16): 2.45,
    (5000, 16): 2.68, (10000, 16): 2.90, (100, 32): 1.40, (250, 32): 1.56, (500, 32): 1.75,
    (1000, 32): 1.92, (2000, 32): 2.15, (5000, 32): 2.50, (10000, 32): 2.60, (100, 64): 1.44,
    (500, 64): 1.61, (1000, 64): 1.75, (2000, 64): 1.92, (5000, 64): 2.21, (10000, 64): 2.35,
    (250, 128): 1.11, (500, 128): 1.51, (1000, 128): 1.61, (5000, 128): 1.96,
    (10000, 128): 2.15, (500, 256): 1.50, (1000, 256): 1.48, (2000, 256): 1.56,
    (10000, 256): 1.98, (1000, 512): 1.41, (2000, 512): 1.51, (5000, 512): 1.69,
    (2000, 1024): 1.48, (10000, 1024): 1.70, (5000, 2048): 1.62, (10000, 2048): 1.49,
    (5000, 4096): 1.93, (10000, 4096): 1.52,
}  # fmt: skip
GRID = [
    (N, D)
    for D in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    for N in (100, 250, 500, 1000, 2000, 5000, 10_000)
    if N > D
]


@pytest.mark.parametrize(("N", "D"), sorted(SHADOW_RATIOS))
def test_shipped_shadows_meet_the_table(N, D):
    cb = codebook(N, D, kind="shadow")
    assert cb.certificate.ratio <= SHADOW_RATIOS[N, D] + 0.02
    assert cb.certificate.coherence == pytest.approx(shipped_design(N, D, "real")[0], abs=1e-8)


def test_shadows_beat_static_prime_on_the_whole_grid():
    assert len(GRID) == 43
    gains = []
    for N, D in GRID:
        static = codebook(N, D, kind="static").certificate.coherence
        gains.append(shipped_design(N, D, "real")[0] / static)
    assert max(gains) < 1.0
    others = [gain for gain, cell in zip(gains, GRID, strict=True) if cell not in SHADOW_RATIOS]
    assert math.exp(np.log(others).mean()) <= 0.75
    assert math.exp(np.log(gains).mean()) <= 0.75


@pytest.mark.parametrize(("k", "N"), [(8, 57), (32, 993), (128, 16_257)])
def test_phasor_shadows_come_within_three_percent_of_welch(k, N):
    found = codebook(N, k, kind="shadow", field="complex").certificate
    assert 1.0 <= found.ratio <= 1.03


def test_prime_codes_at_1000_by_64():
    assert codebook(1000, 64, kind="shadow").certificate.ratio <= 1.50


def test_a_shipped_design_loads_quickly():
    codebook(1000, 64, kind="shadow")  # reads the table
    started = time.perf_counter()
    searched = codebook(1000, 64, kind="shadow", steps=50)
    search = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(20):
        loaded = codebook(1000, 64, kind="shadow")
    assert loaded.N == searched.N
    assert (time.perf_counter() - started) / 20 < search / 5


def test_shipped_designs_are_distinct_primes_and_rebuild():
    sizes = shipped_lines()
    assert {(N, D) for N, D, field in sizes if field == "real"} == set(GRID)
    for N, D, field in sizes:
        _, design = shipped_design(N, D, field)
        assert len(set(design.primes.tolist())) == len(design.primes) <= D
        book = codebook(N, D, kind="shadow", field=field)
        assert book == from_spec(design.spec)
    assert shipped_design(101, 16, "real") is None
    from primal.codebooks._numbers import is_prime

    assert all(is_prime(p) for p in shipped_design(1000, 64, "real")[1].primes.tolist())


def test_a_search_is_reproducible_and_keeps_its_budget():
    told = []
    budget = SearchBudget(300, progress=lambda done, total: told.append(done))
    one = cyclotomic_target(250, 32, budget)
    two = cyclotomic_target(250, 32, SearchBudget(300))
    assert one == two
    assert max(told) <= 300
    assert told == sorted(told)
    assert cyclotomic_target(250, 32, SearchBudget(10**9, 0.2)).coherence < 1.0


@pytest.mark.parametrize("kind", ["auto", "shadow"])
def test_a_search_without_end_is_refused(kind):
    with pytest.raises(ParameterError) as caught:
        codebook(1000, 64, kind=kind, steps=10**15)
    assert str(caught.value) == "steps must be at most 1073741824, got 1000000000000000."


def test_a_target_has_the_coherence_that_it_claims():
    target = cyclotomic_target(250, 32, SearchBudget(300))
    lags = np.arange(1, target.P)
    angles = 2 * np.pi * (lags[:, None] * np.array(target.numerators) % target.P) / target.P
    assert np.abs(np.cos(angles).mean(axis=1)).max() == pytest.approx(target.coherence, abs=1e-9)
    shadow = Shadow.of_cosets(250, 32, SearchBudget(300))
    assert shadow.certificate.coherence == pytest.approx(target.coherence, rel=0.04)


def test_a_new_design_is_better_than_static():
    cb = codebook(300, 48, kind="shadow", steps=500)
    assert cb.certificate.coherence < 0.6 * codebook(300, 48, kind="static").certificate.coherence
    assert cb.verify(full=True).ok


def test_shadow_primes_follow_their_targets():
    targets = [0.123, 0.456, 0.789, 0.123]
    for signed in (True, False):
        primes = shadow_primes(targets, 1e-4, signed=signed)
        assert len(set(primes)) == 4
        fractions = np.sqrt(np.array(primes, dtype=float)) % 1
        distance = np.abs(fractions - targets)
        if not signed:
            distance = np.minimum(distance, np.abs(1 - fractions - targets))
        assert distance.max() <= 1e-4
    assert shadow_primes([0.1], 0.2, signed=True)[0] == 5  # frac sqrt(5) = 0.236
    with pytest.raises(ShadowError, match=r"0\.500000000"):
        shadow_primes([0.5], 1e-7, signed=True)


def test_singer_shadow_as_real_codes():
    codes = Shadow.of_singer(1000, 64, "real")
    assert codes.view == "paired"
    assert codes.certificate.coherence / bounds.welch(1000, 64) <= 1.46


def test_auto_takes_orthogonal_codes_when_there_are_any():
    cb = codebook(64, 64)
    assert cb.kind == "orthonormal"
    assert "orthogonal codes exist" in cb.reason
    assert cb.certificate.ratio == 1.0


@pytest.mark.parametrize(
    ("N", "D", "kind"),
    [
        (1000, 64, "kerdock"),
        (100, 64, "paley"),
        (257, 128, "paley"),
        (1000, 16, "delsarte-goethals"),
        (10_000, 64, "delsarte-goethals"),
        (250, 16, "shadow"),
        (5000, 32, "shadow"),
        (5000, 4096, "paley"),
    ],
)
def test_auto_takes_the_lowest_coherence(N, D, kind):
    cb = codebook(N, D)
    assert cb.kind == kind
    assert cb.reason.startswith(f"{kind} has the smallest coherence")
    ranking = candidates(N, D, "real", SearchBudget())
    assert cb.certificate.coherence == pytest.approx(
        min(coherence for coherence, _ in ranking), abs=1e-8
    )


def test_auto_for_phasors():
    assert codebook(57, 8, field="complex").kind == "singer"


def test_auto_reads_no_codes_where_there_is_nothing_to_compare(monkeypatch):
    monkeypatch.setattr(Static, "_evidence", lambda codes: pytest.fail("compared all codes"))
    cb = codebook(10**9, 64)
    assert cb.kind == "static"
    assert cb[5].shape == (64,)
    assert cb.reason.startswith("static is the only one of the kinds")


def test_auto_always_answers():
    for N, D in ((2, 2), (7, 3), (30, 5), (200, 11)):
        cb = codebook(N, D, steps=60)
        assert cb.verify(full=True).ok
        assert cb.certificate.coherence <= 1.0


def test_impossible_requests_name_the_bound():
    with pytest.raises(primal.errors.ParameterError, match=r"Welch bound, 0\.120994, forbids it"):
        codebook(1000, 64, max_coherence=0.12)
    with pytest.raises(primal.errors.ParameterError, match="Levenshtein bound"):
        codebook(10_000, 16, max_coherence=0.5)
    with pytest.raises(primal.errors.ParameterError, match="does not forbid less"):
        codebook(1000, 64, max_coherence=0.1249)
    assert codebook(1000, 64, max_coherence=0.125).kind == "kerdock"
    with pytest.raises(primal.errors.ParameterError, match=r"got 1\.5"):
        codebook(1000, 64, max_coherence=1.5)
