"""Class-incremental learning: sums forget nothing, networks do, growth keeps old answers."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from primal.errors import DataError, ParameterError
from primal.sklearn import PrimeRidgeClassifier
from primal_studies.hdc._continual import (
    class_incremental,
    first_task_standardized,
    tasks,
)
from primal_studies.hdc._continual_learners import leading
from primal_studies.hdc._datasets import load

SPLIT = first_task_standardized(load("digits").split(0), "image", 5)


@pytest.fixture(scope="module")
def rows():
    found = class_incremental(SPLIT, n_components=256)
    return {(row.learner, row.task): row for row in found}


def test_tasks_share_the_classes_in_order():
    y = np.array([0, 5, 9, 4, 1, 8])
    assert [part.tolist() for part in tasks(y, 5)] == [[0, 4], [], [1, 3], [], [2, 5]]
    with pytest.raises(DataError, match="divisor"):
        tasks(y, 3)


def test_the_closed_form_in_tasks_is_the_closed_form_at_once(rows):
    assert rows["ridge", 5].accuracy == rows["joint ridge", 5].accuracy
    assert rows["ridge", 5].task_accuracies == rows["joint ridge", 5].task_accuracies
    assert rows["ridge", 5].accuracy > 0.96


def test_a_network_in_sequence_forgets_and_replay_helps(rows):
    assert rows["network", 1].accuracy > 0.97
    assert rows["network", 5].accuracy < 0.4
    assert rows["network", 5].task_accuracies[-1] > 0.9
    assert rows["network, replay", 5].accuracy > rows["network", 5].accuracy + 0.3
    assert rows["ridge", 5].accuracy > rows["network, replay", 5].accuracy


def test_growth_in_the_stream_keeps_old_answers(rows):
    sizes = [rows["ridge, growing", task].n_components for task in range(1, 6)]
    assert sizes == [64, 128, 256, 256, 256]
    kept = [rows["ridge, growing", task].old_answers_kept for task in range(1, 6)]
    assert kept == [None, True, True, None, None]
    # All features have met all rows in the end: the model is the one that never grew.
    assert rows["ridge, growing", 5].accuracy == rows["ridge", 5].accuracy


def test_rows_say_what_was_seen(rows):
    last = rows["centroid", 3]
    assert (last.n_classes, len(last.task_accuracies)) == (6, 3)
    assert 0.0 <= min(last.task_accuracies) <= last.accuracy <= max(last.task_accuracies) <= 1.0
    assert ("joint ridge", 4) not in rows
    assert last.as_json()["learner"] == "centroid"


def test_leading_features_are_the_smaller_model():
    X, y = SPLIT.X_train[:300], SPLIT.y_train[:300]
    small = PrimeRidgeClassifier(64, form="pair").fit(X, y)
    large = PrimeRidgeClassifier(128).fit(X, y)  # of 64 columns: pairs, by itself
    np.testing.assert_array_equal(
        leading(large, 64).decision_function(X), small.decision_function(X)
    )
    assert large.n_components == 128


def test_standardising_sees_the_first_task_only():
    raw = load("digits").split(0)
    first = raw.X_train[raw.y_train < 2]
    rows = SPLIT.X_train[: len(first)]
    assert rows.mean() == pytest.approx(0.0, abs=1e-12)
    assert rows.std() == pytest.approx(1.0)
    assert abs(SPLIT.X_train.mean()) > 1e-3


def test_an_unknown_learner_is_refused():
    with pytest.raises(ParameterError, match="'joint ridge'"):
        class_incremental(SPLIT, learners=["oracle"])
