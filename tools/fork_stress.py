"""Fork while other threads encode, and see whether every child encodes with the right bits.

    python tools/fork_stress.py numba --children 50
    python tools/fork_stress.py numba --children 50 --first-use   # a fresh process for each
    NUMBA_CACHE_DIR=$(mktemp -d) python tools/fork_stress.py numba --children 10 --first-use

``--first-use`` forks while Numba is being imported and its loops compiled, or read from its
cache. Prints one JSON line and exits with status 1 unless every child was right.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

import primal
from primal._selftest import sample_points

N_THREADS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["numpy", "numba"])
    parser.add_argument("--children", type=int, default=50)
    parser.add_argument("--first-use", action="store_true")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before the first fork")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds given to a child")
    options = parser.parse_args()
    if options.first_use and options.children > 1:
        counts = fresh_processes(options)
    else:
        counts = children_of_one_process(options)
    print(json.dumps(counts))
    return 0 if counts["right"] == options.children else 1


def fresh_processes(options: argparse.Namespace) -> dict[str, int]:
    """Numba is used for the first time once in a process: one child for each."""
    total = {"right": 0, "wrong": 0, "hung": 0}
    for i in range(options.children):
        # Spread over the second or so that importing and compiling take.
        delay = str(1.5 * i / options.children)
        command = [sys.executable, __file__, options.engine, "--children", "1", "--first-use"]
        command += ["--delay", delay, "--patience", str(options.patience)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=3 * options.patience
            )
        except subprocess.TimeoutExpired:  # the fork itself hung
            total["hung"] += 1
            continue
        for name, count in json.loads(done.stdout).items():
            total[name] += count
    return total


def children_of_one_process(options: argparse.Namespace) -> dict[str, int]:
    m = primal.DynamicPrime(16, 512, 0.1, basis="auto")
    x = sample_points(700, 16)
    os.environ["PRIMAL_ENGINE"] = "numpy"
    expected = m.encode(x).tobytes()
    os.environ["PRIMAL_ENGINE"] = options.engine
    if not options.first_use:
        m.encode(x)

    def keep_encoding() -> None:
        while True:
            m.encode(x)

    for _ in range(N_THREADS):
        threading.Thread(target=keep_encoding, daemon=True).start()
    time.sleep(options.delay)
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
