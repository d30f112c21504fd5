"""Check `plan_matrix`: against exhaustive search, its predictions, its speed, and its word.

    python tools/matrix_bars.py                # 1,000 problems
    python tools/matrix_bars.py --problems 50

Every problem has its own size (up to 40 rows), matrix, prior, noise and rows known. The exhaustive
search goes through the same solutions without any lattice reduction, and without a limit on their
distance but that of the answer to be refuted; where it takes too long it says nothing. Exits
with 1 if it finds a nearer solution, or a wrong answer was called unique.
"""

from __future__ import annotations

import sys
import time

import click
import numpy as np

from primal.decoding import Box, Gaussian, Integers, MatrixPlan, _kernels, plan_matrix

MOST_NODES = 3_000_000


def problem(rng: np.random.Generator, rows: int) -> tuple[MatrixPlan, np.ndarray, np.ndarray, str]:
    """Return a plan, values y, the whole numbers behind them, and the kind of prior."""
    k = int(rng.integers(2, 41))
    d = int(rng.integers(0, k // 2 + 1))
    kind = rng.choice(["Gaussian", "Box", "Integers"]) if d else "none"
    A = rng.normal(size=(k, d)) * rng.uniform(0.2, 2.0) / np.sqrt(max(d, 1))
    known = np.arange(k) < (int(rng.integers(0, k // 3 + 1)) if rng.random() < 0.5 else 0)
    loadings = rng.normal(size=(k, k))
    std = float(np.exp(rng.uniform(np.log(0.003), np.log(0.25))))
    correlated = rng.random() < 0.5
    mixed = loadings @ loadings.T / k + 0.05 * np.eye(k) if correlated else np.eye(k)
    covariance = std**2 * mixed
    prior, x = {
        "Gaussian": lambda: (Gaussian(0.0, 1.0), rng.normal(size=(rows, d))),
        "Box": lambda: (Box(1.0), rng.uniform(-1.0, 1.0, (rows, d))),
        "Integers": lambda: (Integers(1.0, -7, 7), rng.integers(-7, 8, (rows, d)).astype(float)),
        "none": lambda: (None, np.zeros((rows, 0))),
    }[kind]()
    plan = plan_matrix(A, prior=prior, covariance=covariance, known=known)
    whole = rng.integers(-99, 100, (rows, k)) * ~known
    noise = rng.normal(size=(rows, k)) @ np.linalg.cholesky(covariance).T
    return plan, x @ A.T + noise - whole, np.concatenate([x, whole], axis=1), str(kind)


def nearer_exists(plan: MatrixPlan, y: np.ndarray, residual: float) -> bool | None:
    """Whether some whole numbers are nearer to y than an answer; None if that took too long."""
    law = plan._law
    m = len(law.noise)
    rows = law.lattice.rows(np.eye(m, dtype=np.int64))
    _, upper = np.linalg.qr(rows.T)
    factor = np.ascontiguousarray(upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0))
    phases, _ = law.phases(y[None])
    whole, costs = np.zeros((1, 1, m), dtype=np.int64), np.empty((1, 1))
    radius = residual * (1.0 - 2e-3)  # rows of the lattice are rounded to 2**-10 of the noise
    ended = _kernels.closest_points(factor, phases, radius, MOST_NODES, whole, costs)
    return bool(np.isfinite(costs[0, 0])) if ended[0] or np.isfinite(costs[0, 0]) else None


def measure_problems(n_problems: int, rows: int) -> bool:
    count = dict.fromkeys(("refuted", "confirmed", "too long", "wrong unique", "sure"), 0)
    off, sure_unique, decodes = [], [], 0
    for seed in range(n_problems):
        plan, y, truth, kind = problem(np.random.default_rng(seed), rows)
        found = plan.solve(y)
        answer = np.concatenate([found.candidates[:, 0], found.whole], axis=1)
        n_real = 0 if kind == "Integers" else found.x.shape[-1]
        right = (answer[:, n_real:] == truth[:, n_real:]).all(axis=1)
        unique = found.status == "unique"
        decodes += len(y)
        count["wrong unique"] += int((unique & ~right).sum())
        if plan.certificate.log2_spurious < -40.0 and right.any():
            sure_unique.append(unique[right].mean())
        if kind in ("Gaussian", "none"):
            off.append((plan.certificate.success_probability, right.mean()))
        # Limits of a prior leave out solutions that are nearer, and are no part of this search.
        if kind in ("Gaussian", "none") and found.status[0] != "failed":
            nearer = nearer_exists(plan, y[0], float(found.residual[0, 0]))
            count[{True: "refuted", False: "confirmed", None: "too long"}[nearer]] += 1
    predicted, measured = np.array(off).T
    error = np.abs(predicted - measured)
    allowed = 0.02 + 3.0 * np.sqrt(predicted * (1.0 - predicted) / rows)
    print(f"{n_problems} problems, {decodes} rows: {count}")
    print(f"success predicted and measured: mean difference {np.mean(predicted - measured):+.4f},")
    print(f"  largest {error.max():.3f}, beyond 0.02 and 3 deviations in {(error > allowed).sum()}")
    if sure_unique:
        print(f"called unique of right ones, log2_spurious < -40: {np.mean(sure_unique):.4f}")
    return not (count["refuted"] or count["wrong unique"])


def measure_speed(k: int, d: int, std: float) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(k, d)) / np.sqrt(max(d, 1))
    plan = plan_matrix(A, prior=Gaussian(0.0, 1.0) if d else None, noise=std)
    y = rng.normal(size=(20_000, d)) @ A.T + rng.normal(0.0, std, (20_000, k))
    plan.solve(y[:10])
    start = time.perf_counter()
    plan.solve(y)
    rate = len(y) / (time.perf_counter() - start)
    success = plan.certificate.success_probability
    print(
        f"{k} rows, {d} real inputs, noise {std}: success {success:.4f}, {rate:,.0f} rows a second"
    )


@click.command()
@click.option("--problems", default=1000, show_default=True)
@click.option("--rows", default=200, show_default=True, help="Values of y for each problem.")
def main(problems: int, rows: int) -> None:
    """Measure everything; see above."""
    sound = measure_problems(problems, rows)
    for k, d, std in ((20, 0, 0.1), (20, 4, 0.03), (20, 8, 0.01), (40, 8, 0.03)):
        measure_speed(k, d, std)
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
