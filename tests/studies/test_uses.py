"""Studies of the uses that the paper names: quick runs, and their parts against what is known."""

from __future__ import annotations

import importlib
import json
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("primal_studies")
pytest.importorskip("scipy")
pytest.importorskip("sklearn")

from primal.privacy._attacks import learned_inversion
from primal_studies.training._common import Study
from primal_studies.uses import (
    STUDIES,
    _chaos,
    _families,
    _forecasters,
    fingerprints,
    kspace,
    multiuser,
    optics,
    split_learning,
)
from primal_studies.uses._rates import wilson


@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_run_ends_in_tables_and_a_second_one_reads_them_back(name, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    if name == "kspace":
        pytest.importorskip("skimage")
    script = importlib.import_module(f"primal_studies.uses.{name}")
    arguments = ["--quick", "--seeds", "1", "--out", str(tmp_path)]
    runs = script.main(arguments)
    for text in capsys.readouterr().out.rstrip().split("\n\n")[:-1]:  # tables, then the cost
        rows = text.splitlines()
        assert len(rows) > 2
        assert len({row.count("|") for row in rows}) == 1
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    kept = [run for text in before.values() for run in json.loads(text).values()]
    assert sorted(map(str, runs)) == sorted(map(str, kept))
    assert script.main(arguments) == runs
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == before
    assert "on file" in capsys.readouterr().err
    assert any(path.stat().st_size > 5000 for path in tmp_path.glob("*.png"))


def test_wilson_is_the_root_of_its_equation():
    """The ends are the rates from which the one seen is 1.96 standard deviations away."""
    for rate in wilson(7, 50):
        assert abs(7 / 50 - rate) == pytest.approx(1.96 * (rate * (1 - rate) / 50) ** 0.5)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == 1.0


@pytest.mark.parametrize(
    ("name", "n_codes", "values"),
    [
        ("gold", 65, {-17, -1, 15}),
        ("kasami", 520, {-17, -9, -1, 7, 15}),
    ],
)
def test_classical_codes_have_their_correlations(name, n_codes, values):
    codes = getattr(_families, name)()
    assert codes.shape == (n_codes, 63)
    codes = codes[:: max(1, n_codes // 65)]  # of the large set every eighth
    found = _families.cyclic_correlations(codes).real.round().astype(int)
    same = np.arange(len(codes))
    found[same, same, 0] = -1
    assert set(np.unique(found).tolist()) == values


def test_zadoff_chu_codes_have_flat_correlations():
    codes = _families.zadoff_chu()
    assert codes.shape == (3660, 61)
    found = np.abs(_families.cyclic_correlations(codes[::61]))
    same = np.arange(60)
    np.testing.assert_allclose(found[same, same, 0], 61)
    np.testing.assert_allclose(found[same, same, 1:], 0, atol=1e-9)
    found[same, same] = np.sqrt(61)
    np.testing.assert_allclose(found, np.sqrt(61))


def test_walsh_codes_are_orthogonal():
    np.testing.assert_array_equal(_families.walsh() @ _families.walsh().T, 64 * np.eye(64))


@pytest.mark.parametrize(("users", "snr_db"), [(1, 3.0), (8, 6.0), (32, 10.0)])
def test_the_simulator_agrees_with_the_closed_form_for_random_codes(users, snr_db):
    rng = np.random.default_rng(0)
    wrong = multiuser.wrong_bits(
        _families.family("random"), users, 4000, snr_db, "synchronous", rng
    )
    low, high = wilson(int(wrong["matched"].sum()), 4000, deviations=3.0)
    assert low < multiuser.random_code_errors(users, 63, snr_db) < high


def test_without_noise_the_decorrelator_makes_no_error_however_strong_the_others_are():
    rng = np.random.default_rng(0)
    wrong = multiuser.wrong_bits(_families.family("prime"), 12, 200, 100.0, "near-far", rng)
    assert wrong["matched"].mean() > 0.1
    assert not wrong["decorrelator"].any()
    assert not wrong["mmse"].any()


def test_late_symbols_are_cut_at_the_window():
    codes = np.arange(1.0, 11.0).reshape(1, 2, 5) + 0j
    found = multiuser.late(codes, np.random.default_rng(3))
    assert found.shape == (1, 3, 5)
    np.testing.assert_array_equal(found[0, 0], codes[0, 0])
    delay = np.flatnonzero(found[0, 1])[0]
    expected = np.roll(codes[0, 1], delay)
    np.testing.assert_array_equal(found[0, 1, delay:], codes[0, 1, : 5 - delay])
    np.testing.assert_array_equal(found[0, 1] + found[0, 2], expected)
    assert not (found[0, 1] * found[0, 2]).any()


def test_devices_that_use_their_own_number_keep_their_code_when_others_come():
    prime = _families.family("prime")
    few, many = prime.make(np.arange(10)), prime.make(np.arange(1000))
    np.testing.assert_array_equal(few, many[:10])
    np.testing.assert_array_equal(prime.make(np.array(999)), many[999])


def test_the_largest_lyapunov_exponent_of_lorenz_63():
    """0.9056, known to four digits."""
    assert _chaos.lyapunov_exponent(_chaos.SYSTEMS["Lorenz-63"]) == pytest.approx(0.9056, rel=0.04)


def test_steps_of_kuramoto_sivashinsky_converge():
    """Four times as many steps of a quarter of the length end in the same place."""
    x = 0.1 * np.sin(2 * np.pi * np.arange(32) / 32)[None] * 10
    coarse, fine = (_chaos._kuramoto_sivashinsky(32, 22.0, dt) for dt in (0.25, 0.0625))
    one, other = x, x
    for _ in range(40):
        one = coarse(one)
        for _ in range(4):
            other = fine(other)
    assert np.abs(one).max() > 0.5
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_what_a_forecast_sees():
    history = np.arange(20.0).reshape(5, 1, 4, 1)  # times, starts, sites, channels
    found = _forecasters.seen(history, reach=1, delays=2, spacing=2)
    assert found.shape == (3, 1, 4, 6)
    # Site 0 at the last time: its neighbors on the ring are 3 and 1; two steps before, the same.
    np.testing.assert_array_equal(found[-1, 0, 0], [19, 16, 17, 11, 8, 9])


def _quadratic_map(n):
    """A trajectory whose increments are products of pairs: Henon's map."""
    x = np.zeros((n, 2))
    for now, after in pairwise(x):
        after[:] = 1 - 1.4 * now[0] ** 2 + now[1], 0.3 * now[0]
    return x.reshape(n, 1, 1, 2)


@pytest.mark.parametrize(
    ("method", "hyper"), [("products", 1), ("prime", ("even", 1e-6)), ("random", ("even", 1e-6))]
)
def test_quadratic_increments_are_learned_to_rounding(method, hyper):
    """Cosines of low frequencies are as good as products: there are as many as pairs."""
    system = _chaos.System(1, 2, 1.0, lambda x: x, lambda x: x, 0, 0, 1, 1)
    assert _forecasters.n_features_of_products(system) == 6
    data = _quadratic_map(1000)
    forecaster = _forecasters.Forecaster(system, method, hyper, 6, 0, data[:800])
    n_valid = forecaster.valid_steps(1e-12, data[800:], 20)
    # Errors of 1e-8 take 40 steps to grow to 0.4, at an exponent of 0.42.
    assert n_valid.min() > 25


def test_an_echo_state_network_forgets_its_start():
    system = _chaos.System(1, 2, 1.0, lambda x: x, lambda x: x, 0, 0, 1, 1)
    data = _quadratic_map(400)
    made = _forecasters.Forecaster(system, "echo state", (0.5, 0.5, 1.0), 50, 0, data)
    late, later = (made._with_states(data[first:300])[-1] for first in (0, 100))
    np.testing.assert_allclose(late, later, atol=1e-10)


@pytest.mark.parametrize(("bits", "drift"), [(1, 0.0), (3, 0.0), (8, 0.1), (2, 0.05)])
def test_what_rounding_and_drift_leave_of_the_amplitude(bits, drift):
    rng = np.random.default_rng(0)
    turns = rng.random(400_000)
    moved = optics.masked(turns, bits) + drift * rng.standard_normal(len(turns))
    left = np.exp(2j * np.pi * (moved - turns)).mean()
    assert abs(left - optics.amplitude(bits, drift)) < 0.006  # four standard deviations


@pytest.mark.parametrize("condition", [(2, 0.0, 8.0), (8, 0.15, 4.0), (8, 0.0, 16.0)])
def test_the_rule_predicts_how_often_a_correlator_is_right(condition):
    bits, drift, noise = condition
    run = {"bits": bits, "drift": drift, "noise": noise, "family": "random", "trials": 1500}
    right = optics.measure_correlator(run | {"seed": 0})["right"]
    low, high = wilson(right, 1500, deviations=3.0)
    assert low < optics.predicted_rate(bits, drift, noise) < high


def test_scores_of_an_ideal_hash_are_small_and_of_a_counter_are_not():
    prints = np.random.default_rng(0).integers(0, 256, (1 << 14, 8)).astype(np.uint8)
    found = fingerprints.scores(prints)
    assert abs(found["collisions"]) < 4
    assert abs(found["bytes"]) < 5  # the largest of eight
    assert found["correlation"] < 6  # the largest of 2016
    prints[:, 1] = 7
    assert fingerprints.scores(prints)["bytes"] > 1000
    prints[:, 1] = prints[:, 0]
    assert fingerprints.scores(prints)["correlation"] == pytest.approx(128, rel=1e-3)
    prints[:, :3] = 0
    assert fingerprints.scores(prints)["pairs"] == (1 << 14) * ((1 << 14) - 1) / 2


def test_grid_points_are_all_different():
    x = fingerprints.points("grid", 5000, np.random.default_rng(0))
    assert x.shape == (5000, 8)
    assert len(np.unique(x, axis=0)) == 5000
    assert set(np.unique(x * 16).tolist()) <= set(range(16))


@pytest.mark.parametrize("pattern", ["kronecker", "random", "poisson", "radial", "uniform"])
@pytest.mark.parametrize("share", [0.1, 0.25])
def test_patterns_take_the_share_asked_for_and_the_center(pattern, share):
    mask = kspace.sampled(pattern, 64, share, 2.5, seed=1)
    assert mask.shape == (64, 64)
    assert mask.sum() == round(share * 64 * 64)
    assert np.fft.fftshift(mask)[28:36, 28:36].all()
    again = kspace.sampled(pattern, 64, share, 2.5, seed=1)
    np.testing.assert_array_equal(mask, again)
    assert (kspace.sampled(pattern, 64, share, 2.5, seed=2) != mask).any()


def test_a_kronecker_pattern_spreads_more_evenly_than_a_random_one():
    """Numbers of points in 8 x 8 cells; those of independent points vary by their own mean."""

    def variance(pattern):
        mask = np.fft.fftshift(kspace.sampled(pattern, 128, 0.12, 1.0, seed=0))
        cells = mask.reshape(16, 8, 16, 8).sum(axis=(1, 3))
        return cells[:4].var()  # away from the center, which is full

    assert variance("kronecker") < 0.5 * variance("random")


def test_isometry_of_pairs_is_the_coherence():
    """Two atoms of cosine c have the eigenvalues 1 + c and 1 - c."""
    run = {"dictionary": "gaussian", "m": 32, "order": 2, "supports": 40_000, "seed": 0}
    atoms = kspace.dictionary_atoms("gaussian", 32, 0)
    coherence = np.abs(atoms @ atoms.T - np.eye(len(atoms))).max()
    found = kspace.measure_isometry(run)["constant"]
    assert 0.9 * coherence < found <= coherence + 1e-12


def test_all_of_k_space_gives_the_image():
    pytest.importorskip("skimage")
    image = kspace.phantom(32)
    everything = np.ones((32, 32), dtype=bool)
    found = kspace.reconstructed(np.fft.fft2(image, norm="ortho"), everything, 0.1, 2)
    np.testing.assert_allclose(found, image, atol=1e-12)


def _client(name, noise=0.0):
    run = {"client": name, "noise": noise, "width": 256, "seed": 0}
    public = np.random.default_rng(0).random((150, 16))
    return split_learning.made_client(run, public), public


def test_clients_send_what_they_are_said_to():
    client, X = _client("public")
    plain = client.map.encode(X)
    np.testing.assert_allclose(client.encode(X), plain * np.abs(client.encode(X)).max(), atol=0.01)
    apart = np.square(X[:, None] - X).sum(axis=2)
    sigma = client.map.sigma
    assert sigma**2 * apart[apart > 0.0].mean() == pytest.approx(0.35**2, rel=1e-9)
    client, X = _client("public", 0.05)
    cos, sin = np.split(client.encode(X).astype(float), 2, axis=1)
    off = np.arctan2(sin, cos) / (2 * np.pi) - client.map.turns(X) * 2.0**-32
    assert (off - np.rint(off)).std() == pytest.approx(0.05, rel=0.03)
    client, X = _client("public, 2 bits")
    assert set(np.abs(client.encode(X)).ravel().round(6)) == {0.0, 1.0}
    client, X = _client("projection")
    np.testing.assert_allclose(client.back(client.encode(X)), X, atol=1e-9)


def test_the_best_attacker_on_a_keyed_map_has_the_key_or_not():
    run = {"client": "keyed, 4 bits", "errors": {"lattice": 0.1, "ridge": 0.4, "network": 0.5}}
    least = split_learning.least_error
    assert least([run]) == 0.1
    assert least([run], key_stolen=False) == 0.4
    assert least([run | {"errors": {"ridge": 0.4}}]) is None
    # An attacker who was tried once is not averaged with others.
    public = run | {"client": "public"}
    assert least([public, public | {"errors": {"ridge": 0.4}}]) == 0.1


def test_data_that_cannot_be_had_is_left_out_with_the_reason(tmp_path, capsys, monkeypatch):
    def missing(name):
        raise split_learning.MissingPackageError(f"no {name} here")

    monkeypatch.setattr(split_learning, "load", missing)
    assert split_learning.main(["--out", str(tmp_path)]) == []
    shown = capsys.readouterr()
    assert "mnist is left out: no mnist here" in shown.err
    assert "0 runs" in shown.out


def test_seeds_are_one_or_more_and_one_if_it_has_to_be_quick(capsys):
    def seeds(*given):
        return Study("test.py", "Test.", given).chosen.seeds

    assert (seeds(), seeds("--quick"), seeds("--quick", "--seeds", "2")) == (5, 1, 2)
    for wrong in ("0", "-1", "two"):
        with pytest.raises(SystemExit):
            seeds("--seeds", wrong)
        assert "--seeds" in capsys.readouterr().err


def test_the_command_takes_hyphens_for_underscores():
    from click.testing import CliRunner

    from primal.cli import cli

    done = CliRunner().invoke(cli, ["study", "split-learning", "--help"])
    assert done.exit_code == 0, done.output
    assert "--quick" in done.output


def test_the_network_of_attackers_learns_though_a_column_hardly_varies():
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).standard_normal((400, 5))
    X[:, 0] = np.arange(400) == 7  # R**2 of such a target is far below zero
    learn = split_learning.network_answers
    found = learned_inversion(lambda rows: 2.0 * rows, X[:200], X[200:], learn=learn)
    assert found.numbers["relative error"].value < 0.2
