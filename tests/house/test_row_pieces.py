"""How rows are dealt out to threads."""

import numpy as np
import pytest

import primal
from primal._parallel import n_threads, over_rows
from primal.errors import EngineError


def test_the_number_of_threads_is_that_of_processors_unless_it_is_given(monkeypatch):
    for name in ("PRIMAL_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    usual = n_threads()
    for theirs, expected in (("5", 5), ("5,2", 5), (" 7 ", 7), ("0", usual), ("many", usual)):
        monkeypatch.setenv("OMP_NUM_THREADS", theirs)
        assert n_threads() == expected
    monkeypatch.setenv("PRIMAL_THREADS", "")
    assert n_threads() == usual
    monkeypatch.setenv("PRIMAL_THREADS", "3")
    assert n_threads() == 3


@pytest.mark.parametrize("asked", ["0", "two", "-1", "1.5", "\u00b2"])
def test_a_number_of_threads_that_is_none_is_an_error(monkeypatch, asked):
    monkeypatch.setenv("PRIMAL_THREADS", asked)
    with pytest.raises(EngineError, match=rf"PRIMAL_THREADS must be a whole .* got {asked!r}"):
        n_threads()
    with pytest.raises(EngineError, match="PRIMAL_THREADS"):
        primal.KernelPrime(2, 64).encode(np.ones((1 << 17, 2)))


@pytest.mark.parametrize("n_rows", [0, 1, 2, 5, 10, 63, 64, 1000, 2000])
@pytest.mark.parametrize("least_rows", [1, 3, 16])
def test_pieces_are_whole_parts_and_as_many_as_threads_can_use(monkeypatch, n_rows, least_rows):
    monkeypatch.setenv("PRIMAL_THREADS", "2")
    pieces = []
    over_rows(n_rows, least_rows, lambda first, last: pieces.append((first, last)))
    pieces.sort()
    assert [first for first, _ in pieces] == [0] + [last for _, last in pieces[:-1]]
    assert pieces[-1][1] == n_rows
    assert len(pieces) == max(1, min(16, n_rows // least_rows))
    assert all(first % least_rows == 0 for first, _ in pieces)
    assert len(pieces) == 1 or all(last - first >= least_rows for first, last in pieces)
