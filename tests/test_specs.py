"""Objects that are what their spec says, and stay so."""

import copy
import warnings

import pytest

import primal
from primal.errors import ParameterError
from primal.maps import on

FROZEN = [primal.Basis("auto", 2, 8), primal.KernelPrime(2, 8, width=1.0).basis, on([0, 1])]


@pytest.mark.parametrize("made", FROZEN, ids=lambda made: type(made).__name__)
def test_attributes_are_set_once(made):
    before = made.spec
    for name in made._names:
        with pytest.raises(AttributeError, match=rf"\.{name} cannot be changed"):
            setattr(made, name, getattr(made, name))
    assert made.spec == before


@pytest.mark.parametrize("made", FROZEN, ids=lambda made: type(made).__name__)
def test_a_copy_has_the_same_spec_and_nothing_that_was_computed(made):
    if isinstance(made, primal.Basis):
        _ = made.table
    again = copy.copy(made)
    assert again == made
    assert hash(again) == hash(made)
    assert "table" not in vars(again)


def test_a_map_takes_a_basis_as_it_is():
    basis = primal.Basis("paper", 12, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of the paper's basis at d > 8
        m = primal.DynamicPrime(12, 32, basis=basis)
    assert m.basis is basis
    assert primal.from_spec(m.spec) == m


@pytest.mark.parametrize("other", [{"d": 3}, {"D": 6}, {"sigma": 2.0}, {"primes": "log"}])
def test_a_basis_of_another_map_is_refused(other):
    arguments = {"d": 2, "D": 8, "sigma": 1.0, "primes": "consecutive"} | other
    with pytest.raises(ParameterError, match="pass its own"):
        primal.DynamicPrime(**arguments, basis=primal.Basis("paper", 2, 4))
