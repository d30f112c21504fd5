"""How rows are dealt out to threads."""

import pytest

from primal._parallel import n_threads, over_rows


@pytest.mark.parametrize("asked", ["", "0", "two", "-1", "1.5", "\u00b2"])
def test_a_number_of_threads_that_is_none_is_passed_over(monkeypatch, asked):
    monkeypatch.delenv("PRIMAL_THREADS", raising=False)
    usual = n_threads()
    monkeypatch.setenv("PRIMAL_THREADS", asked)
    assert n_threads() == usual


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
