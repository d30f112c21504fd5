"""Bars of the JavaScript module in Node: wrong bits, time beside the NumPy engine, bytes gzipped.

    python tools/js_bars.py

The minified file is the one that npm packs; it needs terser (``tools/install_browser.sh``).
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from primal import DynamicPrime
from primal.edge import JS_MODULE, to_js
from primal.exact import Finish, engine

ROWS, D, ROUNDS = 20_000, 512, 5
TERSER = Path(__file__).parents[1] / "node_modules" / ".bin" / "terser"
PROGRAM = """
import { readFileSync, writeFileSync } from "node:fs";
const [folder, module] = process.argv.slice(2);
const { DynamicPrime } = await import(module);
const bytes = readFileSync(folder + "/x"), x = new Float64Array(bytes.length / 8);
new Uint8Array(x.buffer).set(bytes);
const map = new DynamicPrime(JSON.parse(readFileSync(folder + "/map.json")));
map.encode(x.subarray(0, 100 * map.d));
const begin = performance.now(), z = map.encode(x);
console.log(performance.now() - begin);
writeFileSync(folder + "/z", new Uint8Array(z.buffer));
"""


def measure(basis: str, d: int, folder: Path, module: Path) -> None:
    m, x = DynamicPrime(d, D, basis=basis), np.random.default_rng(d).standard_normal((ROWS, d))
    x.astype("<f8").tofile(folder / "x")
    (folder / "map.json").write_text(json.dumps(to_js(m)))
    (folder / "run.mjs").write_text(PROGRAM)
    command = ["node", folder / "run.mjs", folder, module]
    out, oracle, ratios = np.empty((ROWS, D), dtype=np.float32), engine("numpy"), []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        oracle.features(m.basis.table, x, out, Finish("block"))
        numpy_ms = 1e3 * (time.perf_counter() - begin)
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
        ratios.append((float(done.stdout) / numpy_ms, float(done.stdout), numpy_ms))
    wrong = np.count_nonzero(np.fromfile(folder / "z", dtype="<u4") != out.view(np.uint32).ravel())
    ratio, js_ms, numpy_ms = sorted(ratios)[ROUNDS // 2]
    print(
        f"{basis:11}d = {d:2}: {js_ms:5.0f} ms, NumPy {numpy_ms:5.0f} ms, ratio {ratio:.2f} "
        f"(median of {ROUNDS}), {wrong} wrong of {out.size:,}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        module = Path(name) / "primal.mjs"
        options = ("--module", "--compress", "--mangle", "--output", module)
        subprocess.run([TERSER, JS_MODULE, *options], check=True, timeout=60)
        packed = gzip.compress(module.read_bytes(), 9)
        print(f"{module.stat().st_size:,} B minified, {len(packed):,} B gzipped")
        for basis in ("table", "hadamard"):
            for d in (8, 64):
                measure(basis, d, Path(name), module)


if __name__ == "__main__":
    main()
