"""Rates and linkability against known laws, and the protocol on synthetic people."""

import hashlib

import numpy as np
import pytest

from primal import DynamicPrime, KernelPrime, PrimalError
from primal.privacy import Key, KeyedPrime, evaluate
from primal.privacy._audit import _projection
from primal.privacy._keys import uniform
from primal.privacy._metrics import equal_error_rate, linkability, linkability_floor

# The integral of p_m D for normal laws at a distance, by quadrature.
_EXACT = {0.0: 0.0, 0.5: 0.1279, 1.0: 0.2929, 2.0: 0.6165, 4.0: 0.9432}


def people(n_people, n_each=4, d=6, seed=0, first=0):
    """Synthetic people: mean distance about 1, rows of one person a quarter of that apart."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((n_people, d)) / np.sqrt(2 * d)
    X = np.repeat(centers, n_each, axis=0)
    y = np.repeat(np.arange(first, first + n_people), n_each)
    return X + 0.25 * rng.standard_normal(X.shape) / np.sqrt(2 * d), y


def keyed_scheme(D, sigma, bits=4):
    secret = b"primal.privacy measurements, 32b"
    return lambda number: KeyedPrime(
        Key(secret, application="evaluate", version=number), 6, D, sigma, bits=bits
    )


def unprotected(_):
    return np.asarray


@pytest.fixture(scope="module")
def data():
    X, y = people(20)
    others, y_others = people(30, seed=1, first=100)
    return (X, y), {"others": others, "y_others": y_others}


def exact_linkability(shift):
    s = np.linspace(-12.0, 16.0, 200_001)
    p = np.exp(-0.5 * (s - shift) ** 2) / np.sqrt(2 * np.pi)
    q = np.exp(-0.5 * s**2) / np.sqrt(2 * np.pi)
    return float((p * np.maximum(0.0, (p - q) / (p + q))).sum() * (s[1] - s[0]))


@pytest.mark.parametrize("shift", _EXACT)
def test_linkability_of_normal_laws(shift):
    assert exact_linkability(shift) == pytest.approx(_EXACT[shift], abs=2e-3)
    rng = np.random.default_rng(0)
    found = np.mean(
        [linkability(rng.normal(shift, 1.0, 1900), rng.normal(0.0, 1.0, 19000)) for _ in range(10)]
    )
    floor = linkability_floor(1900, 19000)
    # The bias of few scores is largest where there is nothing to find, and at most the floor.
    assert _EXACT[shift] - 0.01 < found < _EXACT[shift] + floor.high
    assert 0.03 < floor.low < floor.value < floor.high < 0.06


def test_nothing_depends_on_generators_of_numpy(data, monkeypatch):
    """NumPy does not promise its streams: measurements would change with its version."""

    def drawn(*_, **__):
        raise AssertionError("a generator was made")

    (X, y), others = data
    monkeypatch.setattr(np.random, "default_rng", drawn)
    assert linkability_floor(500, 2000) == linkability_floor(500, 2000)
    found = evaluate(keyed_scheme(48, 0.1), X, y, **others, attacks=False)
    assert found.unlinkability["D_sys floor"].value > 0.0
    np.testing.assert_array_equal(_projection(6, 48, 1)(X), _projection(6, 48, 1)(X))
    assert (_projection(6, 48, 1)(X) != _projection(6, 48, 2)(X)).any()


def test_numbers_of_a_hash_are_uniform_and_known():
    words = np.frombuffer(hashlib.shake_128(b"primal.privacy/test").digest(80_000), "<u8")
    u = uniform("test", 10_000)
    np.testing.assert_array_equal(u, ((words >> 12).astype(np.float64) + 0.5) * 2.0**-52)
    assert abs(np.sort(u) - np.linspace(0, 1, 10_000)).max() < 0.02  # Kolmogorov and Smirnov
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.05


def test_linkability_survives_outliers_and_monotone_maps():
    rng = np.random.default_rng(1)
    m, n = rng.normal(2.0, 1.0, 2000), rng.normal(0.0, 1.0, 8000)
    plain = linkability(m, n)
    assert linkability(np.exp(3.0 * m), np.exp(3.0 * n)) == pytest.approx(plain, abs=0.01)
    n[0] = 1e9  # bins of equal width would all be empty but two
    assert linkability(m, n) == pytest.approx(plain, abs=0.01)


def test_equal_error_rate_of_normal_laws():
    rng = np.random.default_rng(2)
    found = equal_error_rate(rng.normal(2.0, 1.0, 50_000), rng.normal(0.0, 1.0, 80_000))
    assert found == pytest.approx(0.158655, abs=0.004)  # Phi(-1)
    assert equal_error_rate([2.0, 3.0], [0.0, 1.0]) == 0.0
    assert equal_error_rate([0.0, 1.0], [2.0, 3.0]) == 1.0


def test_keyed_templates_match_under_one_key_and_not_across_two(data):
    (X, y), rest = data
    found = evaluate(keyed_scheme(128, 0.4), X, y, **rest, attacks=False)
    bare = evaluate(unprotected, X, y, **rest, attacks=False)
    assert found.accuracy["EER, key stolen"].n == 20
    assert found.accuracy["EER, key stolen"].high < bare.accuracy["EER, key stolen"].value + 0.03
    assert found.renewability["EER across keys"].low > 0.3
    assert found.renewability["EER across keys"].high < 0.7
    assert found.renewability["old accepted by new key"].high < 0.05
    assert bare.renewability["old accepted by new key"].value > 0.9
    linked, floor = found.unlinkability["D_sys"], found.unlinkability["D_sys floor"]
    # Scores of one person are not independent, as those of the floor are.
    assert floor.value < linked.value < 0.2 < 0.7 < bare.unlinkability["D_sys"].value
    assert found.irreversibility == found.key_leakage == {}


@pytest.mark.parametrize(
    "scheme",
    [keyed_scheme(48, 0.4, bits=8), unprotected],
    ids=["keyed", "unprotected"],
)
def test_stolen_keys_undo_everything(data, scheme):
    (X, y), rest = data
    found = evaluate(scheme, X, y, **rest)
    assert found.irreversibility["relative error"].value < 0.2
    true = found.irreversibility["impersonation with true rows"]
    assert found.irreversibility["impersonation"].value > 0.9 * true.value > 0.5
    assert found.unlinkability["D_sys, both keys stolen"].value > 0.7
    pairs = found.key_leakage.get("known pairs needed")
    assert pairs is None or 7 < pairs.value < 20


@pytest.mark.parametrize(
    ("scheme", "most"),
    [
        (lambda _: DynamicPrime(6, 48, 0.4, basis="auto"), 1e-6),
        (lambda _: KernelPrime(6, 48, gamma=0.2), 1e-6),
        (lambda _: KernelPrime(6, 48, gamma=0.2, form="offset"), 0.5),
    ],
    ids=["dynamic", "kernel", "offset cosines"],
)
def test_public_maps_are_decoded_as_whoever_reads_them_would(data, scheme, most):
    (X, y), rest = data
    found = evaluate(scheme, X, y, **rest)
    assert found.irreversibility["relative error"].value < most
    assert not found.key_leakage


@pytest.mark.parametrize("offset", [1e9, -1e8])
def test_rows_far_from_zero_are_as_far_from_each_other(data, offset):
    (X, y), rest = data
    X, others = (np.round(1e6 * rows) for rows in (X, rest["others"]))  # sums with the offset exact
    near, far = (
        evaluate(unprotected, X + o, y, others=others + o, y_others=rest["y_others"])
        for o in (0.0, 1e6 * offset)
    )
    for found in ("accuracy", "irreversibility"):
        for name, estimate in getattr(near, found).items():
            assert getattr(far, found)[name].value == pytest.approx(estimate.value, abs=1e-6), name


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y_others": np.zeros(120)}, "people are in both sets, such as"),
        ({"n_key_pairs": 3}, "n_key_pairs must be at least 20, got 3"),
        ({"y": np.arange(80)}, "one of them twice"),
        ({"y": [1, 2]}, "one label for each of 80 rows"),
        ({"attacks": "no"}, "attacks must be True or False, got 'no'"),
        ({"others": np.zeros((120, 2))}, "others must have the columns of the other rows, 6"),
    ],
)
def test_what_would_flatter_is_refused(data, change, match):
    (X, y), rest = data
    given = {"y": y, **rest, **change}
    with pytest.raises(PrimalError, match=match):
        evaluate(unprotected, X, **given)
