"""Check `plan_matrix`: against exhaustive search, its predictions, its speed, and its word.

    python tools/matrix_bars.py                       # 1,000 problems, a few minutes
    python tools/matrix_bars.py --problems 50
    python tools/matrix_bars.py --log matrix.jsonl    # resume where an earlier run stopped

Every problem has its own size (up to 40 rows), matrix, prior, noise and rows known. The exhaustive
search goes through the same solutions without any lattice reduction, by a loop of its own, and
rejects those outside of the prior by its own least squares; where it takes too long it says
nothing. Exits with 1 if it finds other integers, or a wrong answer was called unique, or more than
the stated risk among those that are unique at a larger one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
import numpy as np
from audit_unique import Log

from primal.decoding import Box, Gaussian, Integers, MatrixPlan, plan_matrix

MOST_NODES = 3_000_000
MOST_LISTED = 4096


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
    return plan, x @ A.T + noise + whole, np.concatenate([x, whole], axis=1), str(kind)


def every_point(factor, phases, radius, most_nodes, listed):
    """Write all whole numbers with |factor^-1 (phases + n)|**2 <= radius; return how many.

    Level by level, each from the least whole number to the largest (Fincke and Pohst); -1 if that
    took too long or there are more than fit.
    """
    m = len(phases)
    steps, costs = np.zeros(m), np.zeros(m + 1)
    trial, last = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    n_found, n_nodes, i, entering = 0, 0, 0, True
    while i >= 0:
        if entering:
            center = -phases[i]
            for j in range(i):
                center += factor[i, j] * steps[j]
            reach = factor[i, i] * np.sqrt(max(0.0, radius - costs[i]))
            trial[i], last[i] = (
                np.int64(np.ceil(center - reach)),
                np.int64(np.floor(center + reach)),
            )
        else:
            trial[i] += 1
        if trial[i] > last[i]:
            i, entering = i - 1, False
            continue
        off = phases[i] + trial[i]
        for j in range(i):
            off -= factor[i, j] * steps[j]
        steps[i] = off / factor[i, i]
        costs[i + 1] = costs[i] + steps[i] * steps[i]
        n_nodes += 1
        if n_nodes > most_nodes or n_found == len(listed):
            return -1
        if i == m - 1:
            listed[n_found] = trial
            n_found, entering = n_found + 1, False
        else:
            i, entering = i + 1, True
    return n_found


def confirmed(plan: MatrixPlan, y: np.ndarray, row: np.ndarray, status: str) -> bool | None:
    """Whether an exhaustive search ends with the same integers; None if it took too long.

    `row` holds the whole inputs and n that were found for y, none that fit if the status is failed.
    """
    law = plan._method.law
    rows = np.concatenate([np.diag(law.noise), law.spread_t.T], axis=1)
    order, basis = [], np.zeros((0, rows.shape[1]))
    left = rows.copy()
    for _ in rows:  # the narrowest first: a permutation, no reduction
        sizes = np.square(left).sum(axis=1)
        sizes[order] = np.inf
        order.append(int(sizes.argmin()))
        basis = np.concatenate([basis, left[order[-1:]] / np.sqrt(sizes.min())])
        left = rows - (rows @ basis.T) @ basis
        left -= (left @ basis.T) @ basis
    factor = np.linalg.cholesky((rows @ rows.T)[np.ix_(order, order)])
    phases, taken = (v[0] for v in law.phases(y[None]))
    n_known, j = len(law.known), law.whole_inputs
    steps = np.rint((row[: len(j)] - law.prior.mean[j]) / law.prior.step[j])
    answer = np.concatenate([np.zeros(n_known), steps, taken - row[len(j) :][law.open_rows]])
    off = np.linalg.solve(factor, (phases + answer)[order])
    radius = plan._method.limit if status == "failed" else (off @ off) * (1.0 + 1e-9)
    listed = np.empty((MOST_LISTED, len(order)), dtype=np.int64)
    n_found = every_point(factor, phases[order], radius, MOST_NODES, listed)
    if n_found < 0:
        return None
    found = np.empty((n_found, len(order)))
    found[:, order] = listed[:n_found]
    # Mean of the standard normal xi given the whole numbers, and x of it.
    xi = np.linalg.solve(rows @ rows.T, (phases + found).T).T @ law.spread_t.T
    x = law.prior.mean + xi[:, : law.prior.factor.shape[1]] @ law.prior.factor.T
    x[:, j] = law.prior.mean[j] + law.prior.step[j] * found[:, n_known : n_known + len(j)]
    limit = 6.0 * plan.certificate.x_std + 1e-9
    inside = (x > law.prior.low - limit).all(axis=1) & (x < law.prior.high + limit).all(axis=1)
    same = (found[inside] == answer).all(axis=1)
    return bool(same.all() and (status == "failed" or len(same) == 1))


def measure_problem(seed: int, rows: int) -> dict[str, object]:
    plan, y, truth, kind = problem(np.random.default_rng(seed), rows)
    found = plan.solve(y)
    answer = np.concatenate([found.candidates[:, 0], found.whole], axis=1)
    n_real = 0 if kind == "Integers" else found.x.shape[-1]
    right = (answer[:, n_real:] == truth[:, n_real:]).all(axis=1)
    unique = found.status == "unique"
    same = [confirmed(plan, y[i], answer[i, n_real:], found.status[i]) for i in range(2)]
    return {
        "kind": kind,
        "confirmed": same,
        "wrong unique": int((unique & ~right).sum()),
        "right": float(right.mean()),
        "unique of right": float(unique[right].mean()) if right.any() else None,
        "predicted": plan.certificate.success_probability,
        "spurious": plan.certificate.log2_spurious,
    }


def measure_problems(n_problems: int, rows: int, log: Log) -> bool:
    results = [
        log.result(f"matrix {rows} {seed}", lambda s=seed: measure_problem(s, rows))
        for seed in range(n_problems)
    ]
    print("prior       searches  same  other  too long    rows  wrong unique")
    sound = True
    for kind in sorted({r["kind"] for r in results}):
        chosen = [r for r in results if r["kind"] == kind]
        same = [c for r in chosen for c in r["confirmed"]]
        wrong = sum(r["wrong unique"] for r in chosen)
        print(
            f"{kind:<10}{len(same):>10}{same.count(True):>6}{same.count(False):>7}"
            f"{same.count(None):>10}{rows * len(chosen):>8}{wrong:>14}"
        )
        sound &= not wrong and not same.count(False)
    ended = sum(all(c is not None for c in r["confirmed"]) for r in results)
    print(f"{n_problems} problems, both searches ended in {ended}")
    predicted, measured = np.array([(r["predicted"], r["right"]) for r in results]).T
    error = np.abs(predicted - measured)
    allowed = 0.02 + 3.0 * np.sqrt(predicted * (1.0 - predicted) / rows)
    print(f"success predicted and measured: mean difference {np.mean(predicted - measured):+.4f},")
    print(f"  largest {error.max():.3f}, beyond 0.02 and 3 deviations in {(error > allowed).sum()}")
    sure = [r["unique of right"] for r in results if r["spurious"] < -40.0 and r["right"]]
    if sure:
        print(f"called unique of right ones, log2_spurious < -40: {np.mean(sure):.4f}")
    return sound


def measure_speed(k: int, d: int, std: float) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(k, d)) / np.sqrt(max(d, 1))
    plan = plan_matrix(A, prior=Gaussian(0.0, 1.0) if d else None, noise=std)
    y = rng.normal(size=(20_000, d)) @ A.T + rng.normal(0.0, std, (20_000, k))
    plan.solve(y[:10])
    start = time.process_time()
    plan.solve(y)
    rate = len(y) / (time.process_time() - start)
    success = plan.certificate.success_probability
    print(
        f"{k} rows, {d} real inputs, noise {std}: success {success:.4f}, {rate:,.0f} rows a second "
        "of processor time"
    )


def measure_risk(k: int, std: float, risk: float, epochs: int) -> bool:
    """Print how many float ambiguities are fixed at a stated risk, and how many of them wrongly."""
    rng = np.random.default_rng(k)
    loadings = rng.normal(size=(k, k))
    covariance = std**2 * (loadings @ loadings.T / k + 0.05 * np.eye(k))
    plan, root = plan_matrix(covariance=covariance, risk=risk), np.linalg.cholesky(covariance)
    n_unique = n_wrong = 0
    for first in range(0, epochs, 100_000):
        n = min(100_000, epochs - first)
        whole = rng.integers(-99, 100, (n, k))
        found = plan.solve(whole + rng.normal(size=(n, k)) @ root.T)
        unique = found.status == "unique"
        n_unique += int(unique.sum())
        n_wrong += int((found.whole != whole)[unique].any(axis=1).sum())
    print(
        f"{k} ambiguities, success {plan.certificate.success_probability:.4f}, risk {risk:g}: "
        f"{n_unique / epochs:.4f} of {epochs} unique, {n_wrong} of these wrong"
    )
    return n_wrong <= risk * n_unique + 4.0 * np.sqrt(risk * n_unique) + 1.0


@click.command()
@click.option("--problems", default=1000, show_default=True)
@click.option("--rows", default=200, show_default=True, help="Values of y for each problem.")
@click.option("--epochs", default=1_000_000, show_default=True, help="Rows for each stated risk.")
@click.option("--log", type=click.Path(path_type=Path), help="Keep results in this file.")
def main(problems: int, rows: int, epochs: int, log: Path | None) -> None:
    """Measure everything; see above."""
    sound = measure_problems(problems, rows, Log(log))
    for k, d, std in ((20, 0, 0.1), (20, 4, 0.03), (20, 8, 0.01), (40, 8, 0.03)):
        measure_speed(k, d, std)
    for k, std in ((4, 0.15), (8, 0.2), (16, 0.2)):
        for risk in (1e-3, 1e-6):
            sound &= measure_risk(k, std, risk, epochs)
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
