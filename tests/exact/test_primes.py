"""The prime table: known primes, slices, growth, threads, interrupts and refusals."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primal
import primal.exact._primes as primes_module
from primal.errors import MemoryLimitError, ParameterError
from primal.exact._primes import LARGEST_COUNT, _PrimeTable

# PrimePi(10**k): OEIS A006880.
PRIME_COUNTS = {1: 4, 2: 25, 3: 168, 4: 1229, 5: 9592, 6: 78498, 7: 664579, 8: 5761455}


def test_first_primes():
    expected = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    assert primal.primes(16).tolist() == expected
    assert primal.primes(16).dtype == np.uint64


@pytest.mark.parametrize(
    ("n", "prime"), [(1, 2), (2, 3), (6, 13), (7, 17), (10**6, 15485863), (10**7, 179424673)]
)
def test_nth_prime(n, prime):
    assert primal.primes(1, start=n - 1).tolist() == [prime]


@pytest.mark.parametrize("k", PRIME_COUNTS)
def test_number_of_primes_below_a_power_of_ten(k):
    table = primal.primes(PRIME_COUNTS[8] + 1)
    assert np.searchsorted(table, 10**k) == PRIME_COUNTS[k]


@pytest.mark.parametrize("n", range(20))
def test_a_fresh_table_of_any_small_size_is_right(n):
    expected = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71][:n]
    assert _PrimeTable().first(n)[:n].tolist() == expected


@given(start=st.integers(0, 200_000), n=st.integers(0, 3000))
def test_a_slice_equals_that_part_of_the_whole(start, n):
    whole = primal.primes(203_000)
    np.testing.assert_array_equal(primal.primes(n, start=start), whole[start : start + n])


# One segment of the sieve holds about 155,000 primes: these sizes cross segment edges.
@settings(max_examples=25)
@given(st.lists(st.integers(1, 400_000), min_size=1, max_size=4))
def test_a_table_grown_in_steps_equals_one_made_at_once(sizes):
    whole = primal.primes(400_000)
    table = _PrimeTable()
    for n in sizes:
        grown = table.first(n)
        assert len(grown) >= n
        np.testing.assert_array_equal(grown[:n], whole[:n])


def test_the_table_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        _PrimeTable().first(10)[0] = 4


def test_eight_threads_share_one_fresh_table():
    whole = primal.primes(300_000)
    table = _PrimeTable()
    together = threading.Barrier(8)
    found = {}

    def ask(n):
        together.wait()
        found[n] = table.first(n)[:n].copy()

    sizes = [10, 299_999, 1_000, 200_000, 77, 160_000, 50_000, 5]
    threads = [threading.Thread(target=ask, args=(n,)) for n in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(sizes)
    for n, answer in found.items():
        np.testing.assert_array_equal(answer, whole[:n])


def test_an_interrupt_leaves_the_table_usable(monkeypatch):
    table = _PrimeTable()
    table.first(100)
    sieve = primes_module._sieve
    calls = []

    def interrupted_once(low, high):
        calls.append((low, high))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return sieve(low, high)

    monkeypatch.setattr(primes_module, "_sieve", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        table.first(50_000)
    np.testing.assert_array_equal(table.first(50_000)[:50_000], primal.primes(50_000))
    assert calls.count(calls[0]) == 2


@pytest.mark.parametrize(
    ("n", "start", "words"),
    [
        (-1, 0, ["n", "at least 0", "-1"]),
        (1, -5, ["start", "at least 0", "-5"]),
        (3.0, 0, ["n", "whole number", "3.0"]),
        (1, "2", ["start", "whole number", "'2'"]),
        (True, 0, ["n", "whole number", "True"]),
        (1, LARGEST_COUNT, [str(LARGEST_COUNT + 1), "203,280,221", "2**32"]),
        (LARGEST_COUNT + 1, 0, [str(LARGEST_COUNT + 1), "203,280,221"]),
    ],
)
def test_bad_arguments_are_named(n, start, words):
    with pytest.raises(ParameterError) as caught:
        primal.primes(n, start=start)
    for word in words:
        assert word in str(caught.value)


def test_a_table_larger_than_memory_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr("primal._checks._TOTAL_MEMORY", 10**9)
    with pytest.raises(MemoryLimitError, match=r"2\.4 GB and this machine has 1 GB"):
        primal.primes(200_000_000)


_COUNT_MEMORY = """
import primal
prime = int(primal.primes(1, start=49_999_999)[0])
status = open("/proc/self/status").read()
print(prime, status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_fifty_million_primes_take_less_than_a_gigabyte():
    # Not getrusage: its peak survives exec, so that of this process would count too.
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_MEMORY], capture_output=True, text=True, check=True
    )
    prime, peak_kilobytes = map(int, done.stdout.split())
    assert prime == 982451653
    assert peak_kilobytes * 1024 < 1e9
