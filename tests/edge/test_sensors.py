"""`SensorMap` and `SensorModel`: their definitions in fractions, bounds and refusals."""

import copy
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from edge_cases import cases, spread

import primal
from primal.edge import SensorMap, SensorModel, as_sensor
from primal.edge._header import sample_rows
from primal.errors import DataError, ParameterError, PrimalError

SENSORS = {name: source for name, source in cases().items() if isinstance(source, SensorMap)}


def exact_phases(sensor, n):
    """sum_j f_ij scale_j (n_j - zero_j) for one row, as fractions of a turn."""
    m, table = sensor.map, sensor.table
    scales = np.ones(m.d) if getattr(m, "input_scales", None) is None else m.input_scales
    steps = [Fraction(a) * Fraction(b) for a, b in zip(sensor._scale, scales, strict=True)]
    x = [s * (int(v) - Fraction(z)) for s, v, z in zip(steps, n, sensor._zero, strict=True)]
    mantissas, exponents = table.mantissas.tolist(), table.exponents.tolist()
    offsets = sensor.finish.offsets
    return [
        sum(f * v for f, v in zip(row, x, strict=True)) * Fraction(2) ** (e - 62)
        + (0 if offsets is None else Fraction(int(offsets[i]), 2**32))
        for i, (row, e) in enumerate(zip(mantissas, exponents, strict=True))
    ]


@pytest.mark.parametrize("name", SENSORS)
def test_every_phase_is_within_its_bound(name):
    sensor = SENSORS[name]
    n = sample_rows(sensor, range(3))
    # The dense frequencies of the basis hadamard are rounded themselves.
    slack = 1e-9 if sensor.map.basis.name == "hadamard" else 0.0
    for row, turns in zip(n, sensor.turns(n), strict=True):
        bound = sensor.error_turns(np.abs(row.astype(np.int64))) + slack
        for phase, turn in zip(exact_phases(sensor, row), turns.tolist(), strict=True):
            off = (phase - Fraction(turn, 2**32)) % 1
            assert min(off, 1 - off) <= bound


@pytest.mark.parametrize("kind", ["hadamard32", "hadamard64", "lsb16", "lsb32"])
@pytest.mark.parametrize("zero", [0.0, -700.25, 400.0])
def test_bounds_hold_far_from_the_zero_point(kind, zero):
    m = primal.DynamicPrime(2, 16, 1.5, basis="hadamard")
    sensor = SensorMap(m, [1.75, 0.3], zero, kind=kind, inputs="int8")
    for row in sample_rows(sensor, range(10)):
        bound = sensor.error_turns(np.abs(row.astype(np.int64))) + 1e-9
        for phase, turn in zip(exact_phases(sensor, row), sensor.turns(row).tolist(), strict=True):
            off = (phase - Fraction(turn, 2**32)) % 1
            assert min(off, 1 - off) <= bound


@pytest.mark.parametrize("name", ["table16", "table32", "odd", "odd_block"])
def test_tables_are_rounded_once_from_exact_products(name):
    sensor = SENSORS[name]
    bits = 8 * sensor.scheme.increments.itemsize
    at_zero = exact_phases(sensor, np.zeros(sensor.d, dtype=int))
    for j in range(sensor.d):
        steps = exact_phases(sensor, np.eye(sensor.d, dtype=int)[j])
        meant = [(b - a) * 2**bits for a, b in zip(at_zero, steps, strict=True)]
        found = [math.floor(step + Fraction(1, 2)) % 2**bits for step in meant]
        assert sensor.scheme.increments[:, j].tolist() == found
    offsets = [math.floor(phase * 2**32 + Fraction(1, 2)) % 2**32 for phase in at_zero]
    assert sensor.offsets.tolist() == offsets


@pytest.mark.parametrize("name", [name for name in SENSORS if name.startswith("exact")])
def test_exact_kinds_have_the_bits_of_the_map(name):
    sensor = SENSORS[name]
    n = sample_rows(sensor, range(200))
    x = n * sensor._scale
    np.testing.assert_array_equal(sensor.turns(n), sensor.map.turns(x))
    np.testing.assert_array_equal(sensor.encode(n), sensor.map.encode(x))


@pytest.mark.parametrize("name", SENSORS)
def test_features_are_those_of_the_map_at_the_same_phases(name):
    sensor = SENSORS[name]
    n = sample_rows(sensor, range(50))
    z = sensor.encode(n) / sensor.factors.max()
    # Factors that differ are rounded themselves, and so are products with them.
    units = 1.0 if (sensor.factors == sensor.factors[0]).all() else 2.0
    assert np.abs(z - sensor.encode_q15(n) / 32767).max() < units / 32767
    bound = 2 * np.pi * sensor.error_turns() + 1e-6
    x = (n.astype(np.int64) - sensor._zero) * sensor._scale
    if bound < 0.1:
        assert np.abs(sensor.encode(n) - sensor.map.encode(x)).max() < bound
    assert sensor.encode_bits(n).shape == (50, -(-sensor.turns(n).shape[1] // 4))


@pytest.mark.parametrize("name", SENSORS)
def test_specs_and_pickles_rebuild_the_same_phases(name):
    sensor = SENSORS[name]
    n = sample_rows(sensor, range(5))
    again = primal.from_spec(json.loads(json.dumps(sensor.spec)))
    np.testing.assert_array_equal(again.turns(n), sensor.turns(n))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sensor)).turns(n), sensor.turns(n))


@pytest.mark.parametrize("value", [2**31, -(2**63), 0.5])
@pytest.mark.parametrize("field", ["weights", "biases"])
def test_a_spec_of_weights_that_no_chip_holds_is_rejected(field, value):
    sensor = sensor_of()
    spec = SensorModel(sensor, np.ones((1, sensor.D))).spec
    wrong = {"weights": [[value] * sensor.D], "biases": [value]}
    with pytest.raises(PrimalError, match=r"integers of 16 bits|beyond 2\*\*53"):
        primal.from_spec(spec | {field: wrong[field]})


@pytest.mark.parametrize("size", [1e308, 1e-310])
def test_weights_that_have_no_unit_are_rejected(size):
    sensor = sensor_of()
    with pytest.raises(PrimalError, match="weights and biases must reach from 1e-280 to"):
        SensorModel(sensor, np.full((2, sensor.D), size))


def test_lists_of_negative_integers_are_those_of_arrays():
    sensor = SENSORS["odd"]
    row = [-128, -1, 0, 5, 127]
    np.testing.assert_array_equal(sensor.turns(row), sensor.turns(np.array(row, dtype=np.int8)))


def test_the_bound_of_a_table_is_half_a_unit_for_each_count():
    sensor = SENSORS["table16"]
    assert sensor.error_turns(10) == 20 * 10 * 2.0**-17 + 2.0**-33


def test_scores_are_integer_products_and_never_overflow():
    model = cases()["model"]
    assert isinstance(model, SensorModel)
    n = sample_rows(model.sensor, range(100))
    z = model.sensor.encode_q15(n).astype(object)
    scores = z @ model.weights.T.astype(object) + model.biases.astype(object)
    assert (model.scores(n) == scores).all()
    largest = 32767 * np.abs(model.weights.astype(np.int64)).sum(axis=1) + np.abs(model.biases)
    assert 2**30 < largest.max() < 2**31  # the finest unit, not merely a safe one
    assert (model.predict(n) == np.array(list("abcde"))[np.argmax(scores, axis=1)]).all()
    values = model.sensor.encode(n) @ (spread(5 * 96).reshape(5, 96) - 0.5).T + spread(5)
    assert np.abs(model.scores(n) * model.score_unit - values).max() < 0.02


def test_weights_that_all_round_up_do_not_overflow():
    # The finest unit would be 682.69: 96 weights of 683 leave 32 bits.
    model = SensorModel(SENSORS["table16"], np.ones((1, 96)))
    assert 96 * 32767 * 683 >= 2**31
    assert 32767 * model.weights.astype(np.int64).sum() < 2**31
    assert model.weights.min() >= 680


def test_factors_of_features_go_into_the_weights():
    sensor = SENSORS["weighted"]
    assert sensor.factors.max() > 3 * sensor.factors.min()
    weights = spread(3 * 62).reshape(3, 62) - 0.5
    model = SensorModel(sensor, weights)
    folded = weights * sensor.factors
    np.testing.assert_array_equal(model.weights, np.rint(folded / (32767 * model.score_unit)))
    n = sample_rows(sensor, range(100))
    values = sensor.encode(n).astype(np.float64) @ weights.T
    # Waves are within 0.92 units, weights within half of theirs.
    bound = 0.93 / 32767 * np.abs(folded).sum(axis=1) + 0.5 * 62 * 32767 * model.score_unit
    assert (np.abs(model.scores(n) * model.score_unit - values) <= bound).all()


def test_tables_and_labels_are_read_only():
    sensor = SensorMap(primal.DynamicPrime(2, 8), 0.01)
    words = SensorMap(primal.DynamicPrime(2, 8, basis="hadamard"), 0.01)
    labels = np.array(["a", "b"])
    model = SensorModel(sensor, np.eye(2, 8), labels=labels)
    arrays = [sensor.scheme.increments, words.scheme.words, words.scheme.signs]
    for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        arrays += [one.weights, one.biases, one.labels, one.sensor.scheme.increments]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array
    labels[0] = "c"  # stays the caller's
    assert model.labels.tolist() == ["a", "b"]


def test_models_without_labels_have_scores_only():
    with pytest.raises(ParameterError, match="scores"):
        cases()["estimates"].predict(np.zeros((1, 5), dtype=int))


def sensor_of(**options):
    return SensorMap(primal.DynamicPrime(8, 16, basis="hadamard"), **options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SensorMap(primal.StaticPrime(8)), "StaticPrime"),
        (lambda: SensorMap(primal.DynamicPrime(3, 8, basis="auto", layer_norm=True)), "layer_norm"),
        (lambda: SensorMap(primal.DynamicPrime(3, 8, basis="auto"), kind="hadamard64"), "lsb32"),
        (lambda: sensor_of(kind="int4"), "kind"),
        (lambda: sensor_of(inputs="float32"), "inputs"),
        (lambda: sensor_of(scale=-1.0), "positive"),
        (lambda: sensor_of(scale=[1.0, 2.0]), "8 of them"),
        (lambda: sensor_of(zero=np.nan), "nan"),
        (lambda: sensor_of(kind="q15", scale=0.1), "power of two"),
        (lambda: sensor_of(kind="q15", zero=1), "zero"),
        (lambda: sensor_of(kind="q15", inputs="int8"), "int16"),
        (
            lambda: SensorMap(primal.KernelPrime(2, 8, gamma=[1.0, 2.0]), kind="q15"),
            "one gamma",
        ),
        (
            lambda: SensorMap(
                primal.DynamicPrime(3, 8, basis="auto", precision="fast"), kind="q15"
            ),
            "precision",
        ),
        (lambda: sensor_of().turns([[0.5] * 8]), "integers"),
        (lambda: sensor_of().turns([1, 2, 3]), "8 values"),
        (lambda: sensor_of(inputs="uint8").turns([256] * 8), "from 256 to 256"),
        (lambda: SensorModel(sensor_of(), np.zeros((2, 16))), "zero"),
        (lambda: SensorModel(sensor_of(), np.ones((2, 16)), labels=[1]), "labels"),
        (lambda: as_sensor(3), "int"),
        (lambda: as_sensor(sensor_of()), "already"),
    ],
)
def test_refusals_say_what_to_do(make, says):
    with pytest.raises((ParameterError, DataError), match=says):
        make()


@pytest.mark.parametrize("name", SENSORS)
def test_no_rows_have_no_features(name):
    sensor = SENSORS[name]
    none = np.empty((0, sensor.d), dtype=np.int64)
    assert sensor.encode(none).shape == sensor.encode_q15(none).shape == (0, sensor.D)
    model = SensorModel(sensor, np.ones((2, sensor.D)), labels=[0, 1])
    assert model.scores(none).shape == (0, 2)
    assert model.predict(none).shape == (0,)
