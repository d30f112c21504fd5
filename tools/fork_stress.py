"""Fork while other threads encode, and see whether every child encodes with the right bits.

    python tools/fork_stress.py native --children 50

Prints one JSON line and exits with status 1 unless every child was right.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time

import primal
from primal._selftest import sample_points

N_THREADS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["numpy", "native"])
    parser.add_argument("--children", type=int, default=50)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds given to a child")
    options = parser.parse_args()
    counts = children_of_one_process(options)
    print(json.dumps(counts))
    return 0 if counts["right"] == options.children else 1


def children_of_one_process(options: argparse.Namespace) -> dict[str, int]:
    m = primal.DynamicPrime(16, 512, 0.1, basis="auto")
    x = sample_points(700, 16)
    os.environ["PRIMAL_ENGINE"] = "numpy"
    expected = m.encode(x).tobytes()
    os.environ["PRIMAL_ENGINE"] = options.engine

    def keep_encoding() -> None:
        while True:
            m.encode(x)

    for _ in range(N_THREADS):
        threading.Thread(target=keep_encoding, daemon=True).start()
    counts = {"right": 0, "wrong": 0, "hung": 0}
    for _ in range(options.children):
        time.sleep(0.01)
        child = os.fork()
        if child == 0:
            os._exit(0 if m.encode(x).tobytes() == expected else 1)
        counts[outcome(child, options.patience)] += 1
    return counts


def outcome(child: int, patience: float) -> str:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "right" if status == 0 else "wrong"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # threads are still encoding
