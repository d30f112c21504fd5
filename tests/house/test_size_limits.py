"""What no machine can hold or finish is refused at once, before any memory is taken."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import primal
from primal import _checks, codebooks, hdc
from primal.codebooks import _toeplitz, codebook
from primal.decoding import Box
from primal.exact import spaced_increments

HUGE = 2**31
MAP = primal.DynamicPrime(2, 16, 100.0)
STATIC = primal.StaticPrime(64)
BOOK = codebook(20, 16, kind="static")

REFUSED = {
    **{
        f"{N} codes of {D}, {kind}": lambda N=N, D=D, kind=kind: (
            codebook(N, D, kind=kind).certificate
        )
        for kind in (*codebooks.KINDS, "auto")
        for N, D in ((20, HUGE), (20, 10**400), (2**63, 8), (2**70, 8))
    },
    **{
        f"spec of {kind}": lambda kind=kind: primal.from_spec(
            {name: value for name, value in BOOK.spec.items() if name != "start"}
            | {"kind": kind, "D": HUGE}
        )
        for kind in ("paley", "singer", "orthonormal", "kerdock")
    },
    "spec of static codes": lambda: primal.from_spec(BOOK.spec | {"D": HUGE}),
    "spec of a static map": lambda: primal.from_spec(STATIC.spec | {"D": HUGE}),
    "spec of a map, D": lambda: primal.from_spec(MAP.spec | {"D": HUGE}),
    "spec of a map, d": lambda: primal.from_spec(MAP.spec | {"d": HUGE}),
    "grown map": lambda: MAP.grow(2**40),
    "grown codes, N": lambda: BOOK.grow(N=2**70),
    "grown codes, D": lambda: BOOK.grow(D=2**40),
    "slice": lambda: codebook(2**40, 64, kind="static")[:],
    "pairs to verify": lambda: BOOK.verify(2**60),
    "beam": lambda: MAP.decode_plan(prior=Box(1.0), beam=HUGE),
    "spec of rotary positions": lambda: primal.from_spec(
        primal.StaticPrime(8, spacing="rotary").spec | {"D": 2**60}
    ),
    "Kronecker frequencies": lambda: spaced_increments(2**60, "kronecker"),
    "positions": lambda: STATIC.waves(2**50),
    "cosines": lambda: codebooks.lag_cosines(STATIC.increments, 2**40),
    "histogram": lambda: codebooks.toeplitz_statistics(STATIC.increments, 2**60),
    "primes": lambda: primal.primes(2**40),
    "space": lambda: hdc.Space(10**9),
    "blocks": lambda: hdc.Space(64, n_blocks=2**60),
    "pairs in a matrix": lambda: hdc.KeyValueMemory(hdc.Space(2**22)),
}


@pytest.fixture
def small_machine(monkeypatch):
    """A machine of 16 GB, whatever this one has."""
    monkeypatch.setattr(_checks, "_TOTAL_MEMORY", 16 * 10**9)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name):
    wrong = primal.errors.SpecError if "spec" in name else primal.errors.ParameterError
    with pytest.raises((wrong, primal.errors.MemoryLimitError)):
        REFUSED[name]()


_IN_A_PROCESS = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import test_size_limits as limits
from primal import PrimalError, _checks
_checks._TOTAL_MEMORY = 16 * 10**9
room = 2**30 + int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for name, call in limits.REFUSED.items():
    try:
        call()
    except PrimalError:
        pass
    else:
        sys.exit(f"{name} was not refused")
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1])  # getrusage would count the process that started this one too
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_refusals_take_no_memory():
    """Under a limit of 1 GB more, each ends in an error of ours and not in MemoryError."""
    environment = os.environ | {"PRIMAL_ENGINE": "numpy"}
    command = [sys.executable, "-c", _IN_A_PROCESS, os.path.dirname(__file__)]  # noqa: PTH120
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 600_000  # kilobytes, the interpreter and its packages included


def test_what_is_large_and_possible_is_not_refused():
    assert codebook(2**40, 64, kind="static").encode([2**39]).shape == (1, 64)
    assert codebook(2, 2**16, kind="kerdock").certificate.coherence == 0.0
    assert codebook(10**6, 2**20).kind == "orthonormal"
    assert hdc.Space(2**20).k == 2**19
    assert hdc.Space(2**24).k == 2**23


def test_sizes_that_serve_are_named_as_before():
    with pytest.raises(primal.errors.ParameterError, match=r"D = 24 holds 266.*"):
        codebook(200, 16, kind="singer")
    with pytest.raises(primal.errors.ParameterError, match="D = 2147483660 holds"):
        codebook(2**62, 16, kind="singer", field="complex")


@pytest.mark.parametrize("entries", [1, 100, 1000])
def test_wide_codes_have_the_coherence_that_all_pairs_have(entries, monkeypatch):
    """The products of lags go through smaller blocks where codes are wide."""
    monkeypatch.setattr(_toeplitz, "_LARGEST_FACTOR", entries)
    book = codebook(200, 128, kind="static")
    codes = book.encode(np.arange(200), dtype="float64")
    gram = np.abs(codes @ codes.T)[np.triu_indices(200, 1)]
    assert book.certificate.coherence == pytest.approx(gram.max(), abs=1e-12)


def test_bounds_of_huge_sizes_fall_back_on_welch():
    N, D = 2**63, 2**40
    assert codebooks.bounds.levenshtein(N, D) == codebooks.bounds.welch(N, D)
