"""Maps of a user's own subclass are still maps: the same spec, and equal to the same ones."""

import pickle

import pytest

import primal


class OwnDynamic(primal.DynamicPrime):
    pass


class OwnKernel(primal.KernelPrime):
    pass


class OwnStatic(primal.StaticPrime):
    pass


@pytest.mark.parametrize(
    ("own", "public", "arguments"),
    [
        (OwnDynamic, primal.DynamicPrime, (2, 8)),
        (OwnKernel, primal.KernelPrime, (2, 8)),
        (OwnStatic, primal.StaticPrime, (8,)),
    ],
)
def test_a_subclass_has_the_identity_of_its_map(own, public, arguments):
    mine, m = own(*arguments), public(*arguments)
    assert mine.spec == m.spec
    assert mine.fingerprint == m.fingerprint
    assert primal.from_spec(mine.spec) == m
    assert mine == m
    assert m == mine
    assert hash(mine) == hash(m)
    assert type(pickle.loads(pickle.dumps(mine))) is own
