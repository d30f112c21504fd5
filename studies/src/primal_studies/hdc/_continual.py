"""Class-incremental learning: classes arrive in tasks, and old rows do not come back.

After every task a learner is judged on the test rows of all classes seen so far, without being
given the task that a row belongs to. A network trained in sequence forgets; sums do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from primal._checks import one_of, whole_number
from primal.errors import DataError
from primal.maps import scale_gamma
from primal_studies.hdc._continual_learners import LEARNERS, Learner
from primal_studies.hdc._datasets_split import Split, standardized

__all__ = ["TaskRow", "class_incremental", "first_task_standardized", "tasks"]


@dataclass(frozen=True)
class TaskRow:
    """How a learner does after one more task.

    Attributes
    ----------
    learner : str
    task : int
        Tasks learned so far.
    n_classes : int
        Classes seen so far.
    n_components : int
        Features in use; 0 for a network, which has none.
    accuracy : float
        On the test rows of all classes seen so far.
    task_accuracies : tuple of float
        On the test rows of each task so far.
    seconds : float
        Learning the task and answering.
    old_answers_kept : bool or None
        After growth: whether the old features alone still give the answers of before; None where
        nothing grew.
    """

    learner: str
    task: int
    n_classes: int
    n_components: int
    accuracy: float
    task_accuracies: tuple[float, ...]
    seconds: float
    old_answers_kept: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain values for ``--json``."""
        return asdict(self)


def class_incremental(
    split: Split,
    *,
    learners: Sequence[str] = (),
    n_tasks: int = 5,
    n_components: int = 2048,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[TaskRow]:
    """Teach the classes of a dataset in tasks, and judge every learner after each of them.

    Parameters
    ----------
    split : Split
        Classes 0 ... m - 1. Task t has an equal share of them, in order.
    learners : sequence of str
        Keys of `primal_studies.hdc._continual_learners.LEARNERS`; all of them by default.
    n_tasks : int, default=5
    n_components : int, default=2048
        Features of the prime learners.
    seed : int, default=0
        Of the networks and of what is kept for replay; nothing else is random.
    progress : callable, optional
        Called with (done, total) tasks of all learners.

    Returns
    -------
    rows : list of TaskRow
        Learner by learner, task by task. A joint learner has one row, after the last task.

    Notes
    -----
    Gamma is "scale" of the first task's rows for every learner: later classes are not known when
    a stream begins. The networks are scikit-learn's MLPClassifier with one hidden layer of 256
    units and one output for each class of all tasks; each task gets 5 epochs, or more of them to
    reach 500 steps of 32 rows. Replay keeps 20 rows of each old class, repeated to balance the
    new ones.

    Examples
    --------
    >>> from primal_studies.hdc import class_incremental, load
    >>> rows = class_incremental(load("digits").split(), learners=["ridge", "joint ridge"],
    ...                          n_components=256)
    >>> rows[4].accuracy == rows[5].accuracy  # closed form: in tasks or at once, it is the same
    True
    """
    names = [one_of("learner", name, LEARNERS) for name in learners or LEARNERS]
    parts = tasks(split.y_train, n_tasks)
    gamma = scale_gamma(split.X_train[parts[0]])
    n_classes = int(split.y_train.max()) + 1
    rows = []
    for name in names:
        learner = LEARNERS[name](n_components, gamma, n_classes, seed)
        for task, part in enumerate(parts, start=1):
            if progress is not None:
                progress(names.index(name) * n_tasks + task - 1, len(names) * n_tasks)
            start = time.perf_counter()
            learner.learn(split.X_train[part], split.y_train[part])
            if learner.only_last and task < n_tasks:
                continue
            known = int(split.y_train[part].max()) + 1
            rows.append(_judged(name, learner, split, n_tasks, task, known, start))
    return rows


def first_task_standardized(split: Split, kind: str, n_tasks: int) -> Split:
    """Return a split standardised by the rows of its first task: a stream knows no others."""
    first = tasks(split.y_train, n_tasks)[0]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(split.y_train)), first)])
    sorted_split = split._replace(X_train=split.X_train[order], y_train=split.y_train[order])
    return standardized(sorted_split, kind, len(first))


def tasks(y: np.ndarray, n_tasks: int) -> list[np.ndarray]:
    """Return the rows of each task: equal shares of the classes 0 ... m - 1, in order.

    Examples
    --------
    >>> [rows.tolist() for rows in tasks(np.array([3, 0, 2, 1, 0]), 2)]
    [[1, 3, 4], [0, 2]]
    """
    n_classes = int(y.max()) + 1
    if n_classes % whole_number("n_tasks", n_tasks, least=1):
        raise DataError(
            f"{n_classes} classes cannot be shared equally by {n_tasks} tasks: choose a divisor."
        )
    return [np.flatnonzero(y // (n_classes // n_tasks) == task) for task in range(n_tasks)]


def _judged(
    name: str, learner: Learner, split: Split, n_tasks: int, task: int, known: int, start: float
) -> TaskRow:
    test = np.flatnonzero(split.y_test < known)
    right = learner.predict(split.X_test[test]) == split.y_test[test]
    parts = tasks(split.y_test, n_tasks)[:task]
    return TaskRow(
        name,
        task,
        known,
        learner.n_components,
        float(right.mean()),
        tuple(float(right[np.isin(test, part)].mean()) for part in parts),
        time.perf_counter() - start,
        learner.old_answers_kept,
    )
