"""Split learning: what a server learns from clients' codes, against what attackers recover.

Clients send codes of their digits, a server trains a network of one hidden layer on them. Codes:
the pixels themselves; random projections; a public prime map; the same with 2 bits a phase; a
keyed map of 4 bits a phase; and noise on pixels or on phases. All but the pixels have one width,
and the map has a scale at which two pictures are 0.35 turns apart. Attackers have public pictures
of others with their codes and learn the way back (ridge regression, a network), or know the basis
(linear inverse; lattice decoder, which for the keyed map needs the key). Error 0 is exact, 1 is
knowing nothing. MNIST is averaged to 14 x 14 pixels; there the lattice decoder is tried once, on
the public map: its set-up takes minutes.

    primal study split-learning --out results
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from primal import DynamicPrime
from primal._extras import require
from primal.errors import MissingPackageError
from primal.exact import pack, unpack, waves
from primal.privacy import Key, KeyedPrime, inversion
from primal.privacy._attacks import learned_inversion
from primal.privacy._lattice_attacks import data_prior
from primal_studies._pictures import COLORS, INK, SOFT, picture
from primal_studies.hdc import load
from primal_studies.training._common import Settings, Study, mean_spread, select, table

# Deviations of the noise: of pixels from 0 to 1, and of phases in turns.
NOISES = {
    "pixels": (0.0, 0.5, 1.0, 2.0),
    "projection": (0.0,),
    "public": (0.0, 0.05, 0.1, 0.2),
    "public, 2 bits": (0.0,),
    "keyed, 4 bits": (0.0,),
}
FEWER_NOISES = {"pixels": (0.0, 1.0), "public": (0.0, 0.1)}  # on MNIST
WIDTHS = {"digits": 256, "mnist": 512}
# Clients' rows to train on, the attackers' rows, and rows under attack and test.
ROWS = {"digits": (800, 600, 397), "mnist": (3000, 1500, 1000)}
TURNS_APART = 0.35
ATTACKED_BY_LATTICE = 50
MOST_INPUTS_OF_LATTICE = 64
ATTACKERS = ("linear", "lattice", "ridge", "network")
_COLORS = {
    "pixels": INK,
    "projection": COLORS["random"],
    "public": COLORS["prime"],
    "public, 2 bits": COLORS["repaired"],
    "keyed, 4 bits": COLORS["golden"],
}
_KEYED = "keyed, 4 bits"  # its lattice attacker has the key
_MAPS = ("public", "public, 2 bits")  # whose strongest attacker is the lattice decoder


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure, print the table, draw, and return the runs."""
    study = Study(__file__, __doc__, argv)
    for data in ("digits",) if study.chosen.quick else tuple(WIDTHS):
        try:
            load(data)
        except MissingPackageError as error:
            print(f"{data} is left out: {error}", file=sys.stderr)
            continue
        study.run(f"split-learning-{data}", client_settings(study.chosen, data), measure)
    return study.finish([trade_table(study.runs)], lambda out: draw(study.runs, out))


def client_settings(chosen, data: str) -> list[Settings]:
    """Return one run for each client, noise and seed."""
    noises = NOISES | (FEWER_NOISES if data == "mnist" else {})
    if chosen.quick:
        noises = {"pixels": (1.0,), "public": (0.0, 0.1), _KEYED: (0.0,)}
    sizes = (150, 100, 20) if chosen.quick else ROWS[data]
    return [
        {"data": data, "client": client, "noise": noise, "width": WIDTHS[data]}
        | {"rows": list(sizes), "epochs": 10 if chosen.quick else 30, "seed": seed}
        for client, listed in noises.items()
        for noise in listed
        for seed in range(chosen.seeds)
    ]


def measure(run: Settings) -> Settings:
    """Return the server's accuracy and the median relative error of every attacker."""
    X, y = _pictures(run["data"])
    parts = np.random.default_rng(run["seed"]).permutation(len(X))
    train, public, test = np.split(parts, np.cumsum(run["rows"]))[:3]
    client = made_client(run, X[public])
    accuracy = _server_accuracy(run, client.encode, X, y, train, test)
    found = {
        attacker: learned_inversion(client.encode, X[public], X[test], learn=learn)
        for attacker, learn in (("ridge", None), ("network", network_answers))
    }
    few = X[test][:ATTACKED_BY_LATTICE]
    if client.map is not None and _reachable(run, X.shape[1]):
        # A keyed map has templates of its own; of the others the attacker sees the codes.
        codes = None if isinstance(client.map, KeyedPrime) else client.encode(few)
        stored = client.noise_turns or "float32"
        found["lattice"] = inversion(
            client.map, few, prior=data_prior(X[public]), stored=stored, codes=codes
        )
    errors = {name: finding.numbers["relative error"].value for name, finding in found.items()}
    if client.back is not None:
        errors["linear"] = _error(client.back(client.encode(few)), few, X[public].mean(axis=0))
    return {"accuracy": accuracy, "errors": errors}


@dataclass(frozen=True, eq=False)
class Client:
    """What a client does with rows, and what somebody who knows it can do to go back."""

    encode: Callable[[np.ndarray], np.ndarray]
    back: Callable[[np.ndarray], np.ndarray] | None = None
    map: DynamicPrime | KeyedPrime | None = None
    noise_turns: float = 0.0


def made_client(run: Settings, public: np.ndarray) -> Client:
    """Return the client of one run; its scale comes from public rows."""
    d, D, noise = public.shape[1], run["width"], run["noise"]
    rng = np.random.default_rng([run["seed"], 1])
    if run["client"] == "pixels":
        return Client(lambda rows: rows + noise * rng.standard_normal(rows.shape), lambda z: z)
    if run["client"] == "projection":
        drawn = rng.standard_normal((d, D)) / np.sqrt(D)
        return Client(lambda rows: rows @ drawn, lambda z: z @ np.linalg.pinv(drawn))
    some = public[:200]
    squares = np.square(some[:, None] - some).sum(axis=2)
    sigma = TURNS_APART / float(np.sqrt(squares[squares > 0.0].mean()))
    if run["client"] == "keyed, 4 bits":
        secret = b"primal.privacy measurements, 32b"
        key = Key(secret, application="evaluate", version=run["seed"])
        keyed = KeyedPrime(key, d, D, sigma)
        return Client(keyed.features, map=keyed)
    m = DynamicPrime(d, D, sigma, basis="auto")
    if run["client"] == "public, 2 bits":
        deviation = 0.25 / np.sqrt(12.0)  # of what rounding to 2 bits does to a phase
        return Client(lambda rows: _waves(_rounded(m.turns(rows))), m.decode, m, deviation)

    def encode(rows: np.ndarray) -> np.ndarray:
        turns = m.turns(rows)
        drift = np.rint(noise * 2.0**32 * rng.standard_normal(turns.shape)).astype(np.int64)
        return _waves((turns + drift).astype(np.uint32))  # modulo one turn

    return Client(encode, m.decode, m, noise)


def _rounded(turns: np.ndarray) -> np.ndarray:
    return unpack(pack(turns, 2), 2, turns.shape[-1])


def _waves(turns: np.ndarray) -> np.ndarray:
    return np.concatenate(waves(turns), axis=1)


def _reachable(run: Settings, d: int) -> bool:
    plain = run["client"] == "public" and not run["noise"] and run["seed"] == 0
    return d <= MOST_INPUTS_OF_LATTICE or plain


def _error(guess: np.ndarray, rows: np.ndarray, center: np.ndarray) -> float:
    """Return the median distance, over that of a guess that is always the center."""
    off, nothing = (np.linalg.norm(one - rows, axis=1) for one in (guess, center))
    return float(np.median(off / nothing))


def _server_accuracy(run, encode, X, y, train, test) -> float:
    neural = require("sklearn.neural_network", "primal study split-learning")
    Z = encode(X[train])
    center, scale = Z.mean(axis=0), Z.std(axis=0)
    scale[scale == 0.0] = 1.0
    net = neural.MLPClassifier((128,), max_iter=run["epochs"], random_state=run["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops after so many epochs, converged or not
        net.fit((Z - center) / scale, y[train])
    return float(net.score((encode(X[test]) - center) / scale, y[test]))


def network_answers(Z: np.ndarray, wanted: np.ndarray, Z_new: np.ndarray) -> np.ndarray:
    """Return the answers of two hidden layers of scikit-learn for Z_new."""
    neural = require("sklearn.neural_network", "primal study split-learning")
    scale = np.where((spread := Z.std(axis=0)) > 0.0, spread, 1.0)
    # Not stopped early: its score, a mean of R**2, is meaningless where a target hardly varies.
    net = neural.MLPRegressor(
        hidden_layer_sizes=(256, 128),
        alpha=0.01,
        batch_size=min(32, len(Z)),
        max_iter=max(20, 64_000 // len(Z)),  # about 2,000 steps
        random_state=0,
        tol=1e-5,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops after so many epochs, converged or not
        net.fit((Z - Z.mean(axis=0)) / scale, wanted)
    return net.predict((Z_new - Z.mean(axis=0)) / scale)


@cache
def _pictures(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures as rows of pixels from 0 to 1, and their digits."""
    found = load(data)
    X = found.X.astype(np.float64)
    if data == "mnist":
        X = X.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(X), -1)
    return X / X.max(), found.y


def least_error(runs: list[Settings], *, key_stolen: bool = True) -> float | None:
    """Return the mean error of the best attacker tried on a client, with or without its key.

    None if nobody was tried with the key, which only the lattice decoder uses.
    """
    tried = {name: [r["errors"][name] for r in runs if name in r["errors"]] for name in ATTACKERS}
    if runs[0]["client"] == _KEYED:
        if key_stolen and not tried["lattice"]:
            return None
        tried["lattice"] = tried["lattice"] if key_stolen else []
    return min(statistics.fmean(errors) for errors in tried.values() if errors)


def trade_table(runs: list[Settings]) -> str:
    """Return accuracy and errors by data, client and noise."""
    rows = []
    for data, client, noise in _cells(runs):
        mine = select(runs, data=data, client=client, noise=noise)
        cells = [
            mean_spread(errors) if errors else "-"
            for errors in (
                [run["errors"][name] for run in mine if name in run["errors"]] for name in ATTACKERS
            )
        ]
        accuracy = mean_spread(run["accuracy"] for run in mine)
        rows.append([data, client, noise or "-", accuracy, *cells])
    return table(["data", "code", "noise", "accuracy", *ATTACKERS], rows)


def _cells(runs: list[Settings]) -> list[tuple[str, str, float]]:
    return list(dict.fromkeys((run["data"], run["client"], run["noise"]) for run in runs))


def draw(runs: list[Settings], out: Path) -> None:
    """Draw the server's accuracy against the error of the best attacker."""
    names = list(dict.fromkeys(run["data"] for run in runs))
    with picture(out / "split-learning.png", (4.2 * len(names), 3.6)) as figure:
        for axis, data in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            title = data
            for client, color in _COLORS.items():
                mine = select(runs, data=data, client=client)
                noises = sorted({run["noise"] for run in mine})
                for stolen in (True, False) if client == _KEYED else (True,):
                    cells = [select(mine, noise=noise) for noise in noises]
                    points = [
                        (error, statistics.fmean(run["accuracy"] for run in some))
                        for some in cells
                        if (error := least_error(some, key_stolen=stolen)) is not None
                    ]
                    if not points:
                        continue
                    key = ", key stolen" if stolen else ", key kept"
                    label = client + (key if client == _KEYED else "")
                    mark = "o" if stolen else "D"
                    fill = color if stolen else "none"
                    axis.plot(
                        *zip(*points, strict=True), f"{mark}-", color=color, mfc=fill, label=label
                    )
                    for point, some in zip(points, cells, strict=False):
                        if client in _MAPS and not any("lattice" in r["errors"] for r in some):
                            axis.plot(*point, mark, color=color, mfc="white")
                            title = f"{data} (open circles: without the lattice decoder)"
            axis.axvline(1.0, color=SOFT, linewidth=0.8, linestyle=":")
            axis.set(title=title, xlabel="error of the best attacker (1: knows nothing)")
        figure.axes[0].set_ylabel("accuracy of the server")
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=3)


if __name__ == "__main__":
    main()
