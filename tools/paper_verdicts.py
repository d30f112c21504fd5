"""Compare the verdicts of ``primal reproduce`` over seeds, and of quick with full runs.

    python tools/paper_verdicts.py --seeds 42 1042 2042 [--full]

Prints every claim whose verdict is not the same in all runs, and leaves with status 1 if one of
them is not marked fragile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from primal_studies import paper
from primal_studies.paper import experiments
from primal_studies.paper._runner import measure


def verdicts(seed: int, quick: bool) -> dict[str, str]:
    """Return the status of every claim."""
    outcomes = {name: measure(name, quick=quick, seed=seed).outcome for name in experiments.MODULES}
    return {entry.claim.name: entry.status for entry in paper.judge(outcomes).entries}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, compare, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 1042, 2042])
    parser.add_argument("--full", action="store_true", help="also a full run with the first seed")
    options = parser.parse_args(arguments)
    runs = {f"quick, seed {seed}": verdicts(seed, quick=True) for seed in options.seeds}
    if options.full:
        runs[f"full, seed {options.seeds[0]}"] = verdicts(options.seeds[0], quick=False)
    claims = paper.claims()
    changed = [c for c in claims if len({run[c.name] for run in runs.values()}) > 1]
    for claim in changed:
        mark = "fragile" if claim.fragile else "NOT MARKED"
        print(f"{claim.name} ({mark}): {[run[claim.name] for run in runs.values()]}")
    print(f"{len(claims) - len(changed)} of {len(claims)} claims: one verdict in {len(runs)} runs")
    return int(any(not claim.fragile for claim in changed))


if __name__ == "__main__":
    sys.exit(main())
