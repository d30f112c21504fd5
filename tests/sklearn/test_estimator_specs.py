"""A fitted transformer is its spec: JSON and back, to the bit."""

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")

import primal
from primal.errors import SpecError
from primal.sklearn import PrimeFeatures, PrimeHasher, PrimePositions

X = np.random.default_rng(0).standard_normal((60, 3))
TABLE = [["red", 1], ["green", 2], [None, 2]]
DAYS = np.array([[3, -5], [700, 2**62], [1, 0]])
FITTED = {
    "features": (PrimeFeatures(33).fit(X), X),
    "offset cosines": (PrimeFeatures(5, form="offset", gamma="median").fit(X), X),
    "a gamma each": (PrimeFeatures(16, gamma=np.array([0.1, 2.0, 3.0]), kernel="cauchy").fit(X), X),
    "a lattice": (PrimeFeatures(16, kernel="cauchy", method="lattice").fit(X), X),
    "a random state": (PrimeFeatures(16, random_state=np.random.RandomState(0)).fit(X), X),
    "grown": (PrimeFeatures(16, kernel="matern32", method="growable").fit(X).grow(40), X),
    "positions": (PrimePositions(9, spacing="raw", sigma=0.1, start=4).fit(DAYS), DAYS),
    "hasher": (PrimeHasher(8).fit(np.array(TABLE, dtype=object)), np.array(TABLE, dtype=object)),
}


@pytest.mark.parametrize("name", FITTED)
def test_the_spec_of_a_fitted_estimator_rebuilds_it(name):
    fitted, data = FITTED[name]
    again = primal.from_spec(json.loads(json.dumps(fitted.spec)))
    assert type(again) is type(fitted)
    np.testing.assert_array_equal(again.transform(data), fitted.transform(data))
    assert again.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert again.spec == fitted.spec
    names = [n for n in vars(fitted) if n.endswith("_")]
    assert {n for n in vars(again) if n.endswith("_")} == set(names)
    again.partial_fit(data)  # also goes on learning
    assert np.array_equal(again.transform(data), fitted.transform(data))


def test_what_the_estimator_certifies_is_rebuilt_too():
    features = PrimeFeatures(16, gamma=1e-4).fit(X)
    again = primal.from_spec(features.spec)
    assert again.inverse_certificate_.peak_turns == features.inverse_certificate_.peak_turns
    np.testing.assert_array_equal(
        again.inverse_transform(again.transform(X)), features.inverse_transform(again.transform(X))
    )
    positions, days = FITTED["positions"]
    with np.errstate(all="raise"):
        assert primal.from_spec(positions.spec).data_max_.tolist() == days.max(axis=0).tolist()


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"day": [1, 2, 3], "hour": [4, 5, 6]})
    for estimator in (PrimePositions(4), PrimeHasher(4), PrimeFeatures(4)):
        fitted = estimator.fit(frame)
        again = primal.from_spec(json.loads(json.dumps(fitted.spec)))
        assert again.feature_names_in_.tolist() == ["day", "hour"]
        np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
        with pytest.raises(ValueError, match="feature names"):
            again.transform(frame.rename(columns={"day": "week"}))


def test_without_a_fit_there_is_no_spec():
    for estimator in (PrimeFeatures(4), PrimePositions(4), PrimeHasher(4)):
        assert not hasattr(estimator, "spec")


def changed(spec, *path, to):
    """A deep copy of a spec with one value replaced."""
    spec = json.loads(json.dumps(spec))
    inner = spec
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return spec


@pytest.mark.parametrize(
    ("name", "path", "to", "said"),
    [
        ("features", ("parameters", "colour"), 1, "colour"),
        ("features", ("parameters",), [1], "PrimeFeatures is wrong"),
        ("features", ("fitted", "n_samples_seen_"), -1, "n_samples_seen_"),
        ("features", ("fitted", "data_min_"), [1.0], "one number for each column"),
        ("features", ("fitted", "data_min_"), [1.0, 2.0, float("nan")], "finite"),
        ("features", ("fitted", "map_"), primal.StaticPrime(4).spec, "got StaticPrime"),
        ("features", ("fitted", "map_", "gamma"), -1.0, "gamma"),
        ("features", ("fitted", "more_"), 1, "has more_"),
        ("features", ("feature_names",), ["a"], "one feature name for each column"),
        ("features", ("version",), 2, "version 1"),
        ("positions", ("fitted", "data_max_"), [0.5, 1], "finite numbers of type int64"),
        ("positions", ("fitted", "data_max_"), [2**70, 1], "PrimePositions is wrong"),
        ("features", ("fitted", "data_min_"), [0.0, 9e9, 9e9], "data_min_ must not.*in column 1"),
        (
            "positions",
            ("fitted", "data_max_"),
            [10**6, -(10**6)],
            "data_min_ must not.*in column 1",
        ),
        ("hasher", ("fitted", "n_features_in_"), 0, "n_features_in_"),
        ("positions", ("parameters", "n_components"), 0, "n_components"),
        ("hasher", ("fitted", "n_features_in_"), "x", "n_features_in_"),
    ],
)
def test_wrong_specs_are_refused(name, path, to, said):
    with pytest.raises(primal.PrimalError, match=said) as caught:
        primal.from_spec(changed(FITTED[name][0].spec, *path, to=to))
    assert isinstance(caught.value, (SpecError, primal.errors.ParameterError))
