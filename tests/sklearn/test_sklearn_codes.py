"""PrimePositions and PrimeHasher: codes of table columns."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal

pytest.importorskip("sklearn")

from primal._hash import stable_position
from primal.exact import SPACINGS
from primal.sklearn import PrimeHasher, PrimePositions


def test_positions_are_codes_of_static_prime():
    t = np.array([[0, 7], [-3, 10**12]])
    for spacing in SPACINGS:
        Z = PrimePositions(64, spacing=spacing).fit(t).transform(t)
        s = primal.StaticPrime(64, spacing=spacing, layout="interleaved")
        np.testing.assert_array_equal(Z, np.hstack([s.encode(column) for column in t.T]))


@given(
    spacing=st.sampled_from(["log", "raw"]),
    D=st.integers(4, 15).map(lambda k: 2 * k),
    low=st.integers(-(10**9), 10**9),
    steps=st.lists(st.integers(0, 300), min_size=2, max_size=9),
)
def test_positions_come_back(spacing, D, low, steps):
    t = low + np.array(steps)[:, None]
    positions = PrimePositions(D, spacing=spacing).fit(t)
    np.testing.assert_array_equal(positions.inverse_transform(positions.transform(t)), t)


def test_which_positions_are_similar():
    """At all scales by default, at one with a small sigma, and none as the paper has them."""
    t = np.array([[0], [1], [8], [64]])
    for options, least in (({}, 0.7), ({"spacing": "raw", "sigma": 1e-4}, 0.99)):
        Z = PrimePositions(128, **options).fit(t).transform(t) / 8.0
        assert (np.diff(Z @ Z[0]) < 0).all()
        assert Z[2] @ Z[0] > least
    plain = PrimePositions(128, spacing="raw").fit(t).transform(t) / 8.0
    assert np.abs(plain[1:] @ plain[0]).max() < 0.2


def test_positions_start_at_another_prime_and_grow():
    t = np.arange(5)[:, None]
    for n in (6, 7):
        short = PrimePositions(n, spacing="raw", start=3).fit(t)
        long = PrimePositions(24, spacing="raw", start=3).fit(t).transform(t)
        np.testing.assert_array_equal(long[:, :n], short.transform(t))
        np.testing.assert_array_equal(short.inverse_transform(short.transform(t)), t)
    odd = PrimePositions(7).fit(t)
    with pytest.raises(primal.errors.NotInvertibleError, match="7 columns"):
        odd.inverse_transform(odd.transform(t))


def test_range_widens():
    positions = PrimePositions(16).partial_fit([[5]]).partial_fit([[2], [9]])
    assert positions.data_min_.tolist() == [2]
    assert positions.data_max_.tolist() == [9]


@pytest.mark.parametrize("wrong", [0.5, 2.0**54])
def test_positions_must_be_whole(wrong):
    with pytest.raises(primal.errors.DataError, match="row 1, column 0"):
        PrimePositions(4).fit([[1.0], [wrong]])


def test_a_range_beyond_64_bits_is_rejected():
    t = np.array([[2 - 2**63], [2**63 - 2]])
    positions = PrimePositions(64, spacing="raw").fit(t)
    with pytest.raises(primal.errors.DataError, match=str(2**64 - 3)):
        positions.inverse_transform(positions.transform(t))


def test_one_cosine_has_no_inverse():
    positions = PrimePositions(1, spacing="raw").fit([[1]])
    with pytest.raises(primal.errors.NotInvertibleError):
        positions.inverse_transform([[1.0]])
    with pytest.raises(primal.errors.ParameterError, match="1 columns"):
        positions.inverse_transform([[1.0, 2.0]])


@pytest.mark.parametrize("n_components", [7, 8])
@pytest.mark.parametrize("later", [4, 9])
def test_parameters_that_are_set_wait_for_the_next_fit(n_components, later):
    t = np.array([[5], [7], [100]])
    for estimator in (PrimePositions(n_components, spacing="raw"), PrimeHasher(n_components)):
        expected = estimator.fit(t).transform(t)
        estimator.set_params(n_components=later)
        np.testing.assert_array_equal(estimator.transform(t), expected)
        assert len(estimator.get_feature_names_out()) == n_components
    positions = PrimePositions(n_components, spacing="raw").fit(t)
    codes = positions.transform(t)
    positions.set_params(sigma=3.0, start=5, n_components=later)
    np.testing.assert_array_equal(positions.inverse_transform(codes), t)


def test_stable_position_is_sha256():
    digest = hashlib.sha256(b"sParis").digest()
    assert stable_position("Paris") == int.from_bytes(digest[:8], "big") >> 1


def test_equal_values_of_different_types():
    ones = [1, 1.0, True, np.int8(1), np.float32(1.0), np.bool_(True)]
    assert len({stable_position(value) for value in ones}) == 1
    others = ["1", b"1", 2, 0.1, None, np.str_("one")]
    assert len({stable_position(value) for value in [1, *others]}) == 7
    assert stable_position(None) == stable_position(float("nan"))
    assert stable_position(np.str_("a")) == stable_position("a")


def test_other_types_are_refused():
    with pytest.raises(primal.errors.DataError, match="tuple"):
        stable_position((1, 2))


def test_codes_do_not_depend_on_the_run():
    code = (
        "from primal.sklearn import PrimeHasher\n"
        "print(PrimeHasher(4).fit_transform([['Paris'], ['Rome']]).tobytes().hex())"
    )
    # Python's own hash differs between this process and one with another seed.
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "1", "PRIMAL_ENGINE": "numpy"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = PrimeHasher(4).fit_transform([["Paris"], ["Rome"]]).tobytes().hex()
    assert done.stdout.strip() == here


def test_codes_depend_on_the_value_alone():
    first = PrimeHasher(32).fit([["a"], ["b"]])
    second = PrimeHasher(32).fit([["z"]])
    np.testing.assert_array_equal(first.transform([["q"]]), second.transform([["q"]]))


def test_a_code_without_a_position_is_refused():
    t = np.array([[0], [5], [9]])
    positions = PrimePositions(16).fit(t)
    Z = positions.transform(t)
    Z[1] = 0.0
    with pytest.raises(primal.errors.DataError, match="row 1, column 0"):
        positions.inverse_transform(Z)


DAYS = np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]")[:, None]


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS.astype("datetime64[ns]"),
        DAYS - DAYS[0],
        DAYS.astype(object),
        [[3], DAYS[0].astype(object)],
    ],
)
def test_dates_are_counted_by_the_user(dates):
    with pytest.raises(
        (primal.errors.DataError, TypeError), match=r"dates or dur.*in a unit|date'"
    ):
        PrimePositions(4).fit(dates)


def test_the_advice_for_dates_holds():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"day": pandas.to_datetime(["2024-01-01", "2024-02-01"])})
    for wrong in (
        frame,
        frame.assign(n=[1, 2]),
        frame.assign(day=frame.day.dt.tz_localize("UTC")),
        frame.assign(day=frame.day.dt.to_period("M")),
        frame.assign(day=frame.day.dt.date),
    ):
        with pytest.raises(primal.errors.DataError, match=r"dates or durations.*in a unit"):
            PrimePositions(4).fit(wrong)
    counted = np.asarray(frame, dtype="datetime64[D]").astype("int64")
    positions = PrimePositions(4).fit(counted)
    assert (positions.data_max_ - positions.data_min_).tolist() == [31]


def test_positions_beyond_64_bits_are_refused():
    with pytest.raises(primal.errors.DataError, match=str(2**63)):
        PrimePositions(4).fit(np.array([[1], [2**63]], dtype=np.uint64))
    assert PrimePositions(4).fit(np.array([[2**63 - 1]], dtype=np.uint64)).data_max_ == 2**63 - 1


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", "category", "object"])
def test_missing_text_of_pandas_is_a_category(dtype):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"city": pandas.array(["Paris", pandas.NA, "Oslo"]).astype(dtype)})
    plain = np.array([["Paris"], [None], ["Oslo"]], dtype=object)
    Z = PrimeHasher(16).fit(frame).transform(frame)
    np.testing.assert_array_equal(Z, PrimeHasher(16).fit(plain).transform(plain))


def test_everything_missing_is_one_category():
    pandas = pytest.importorskip("pandas")
    missing = (None, float("nan"), np.float32("nan"), pandas.NA, pandas.NaT)
    assert len({stable_position(value) for value in missing}) == 1
    for days in (DAYS, DAYS.astype("datetime64[ns]"), DAYS - DAYS[0]):
        with pytest.raises(primal.errors.DataError, match=r"astype\(str\)"):
            PrimeHasher(4).fit(days)
