"""The experiments of the paper, in its order; each module is loaded when it is asked for.

A module of this folder exports ``EXPERIMENT``, how it is measured and drawn, and ``CLAIMS``, what
the paper says that it can judge. Its line in ``MODULES`` is all that it needs to be run.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from primal._checks import one_of
from primal.errors import DataError
from primal_studies.paper._claim import Claim
from primal_studies.paper._experiment import Experiment

__all__ = ["MODULES", "Loaded", "load"]

# Names on the command line, and the modules behind them, in the order of the page.
MODULES: dict[str, str] = {
    name: f"{__name__}.{name.replace('-', '_')}"
    for name in (
        "sigma",
        "regimes",
        "geometry",
        "complexity",
        "landscape",
        "optimality",
        "reconstruction",
        "hashing",
        "torus",
        "similarity",
        "uses-hdc",
        "uses-memory",
        "uses-sparse",
        "uses-readout",
        "uses-continual",
        "uses-privacy",
        "uses-radio",
        "uses-learning",
        "precision",
        "vanishing",
    )
}


class Loaded(NamedTuple):
    """An experiment with the claims that its module holds."""

    experiment: Experiment
    claims: tuple[Claim, ...]


def load(name: str) -> Loaded:
    """Import one experiment by its name."""
    module = importlib.import_module(MODULES[one_of("experiment", name, MODULES)])
    experiment: Experiment = module.EXPERIMENT
    if experiment.name != name:
        raise DataError(
            f"experiment {name!r} calls itself {experiment.name!r} in {module.__name__}: "
            "use one name in both places."
        )
    return Loaded(experiment, tuple(module.CLAIMS))
