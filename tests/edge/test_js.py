"""The ES module has the library's bits, in Node and in Chromium, as it is and minified.

Node comes with ``tools/install_browser.sh``; without it tests are skipped, except where ``CI`` or
``PRIMAL_REQUIRE_BROWSER`` is set. The minified file needs terser, which needs npm.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
import warnings
from pathlib import Path

import chromium
import numpy as np
import pytest

import primal
from primal import DynamicPrime, KernelPrime, StaticPrime
from primal._selftest import known_answers, sample_points
from primal.edge import JS_MODULE, to_js
from primal.errors import ConditioningWarning, ParameterError

_TERSER = Path(__file__).parents[2] / "node_modules" / ".bin" / "terser"
# In any host: a module, maps and their inputs in; features as base64 out.
_COMPUTE = """async ({module, jobs}) => {
    const library = await import("data:text/javascript;base64," + module);
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt());
    return jobs.map(({map, x}) => {
        try {
            const z = new library[map.type](map).encode(new Float64Array(bytes(x).buffer));
            const text = Array.from(new Uint8Array(z.buffer), (b) => String.fromCharCode(b));
            return btoa(text.join(""));
        } catch (error) {
            return String(error);
        }
    });
}"""


@pytest.fixture(scope="module", params=["source", "minified"])
def module(request, tmp_path_factory):
    if request.param == "source":
        return JS_MODULE
    if not _TERSER.is_file():
        pytest.skip("terser was not found: run tools/install_browser.sh")
    # What npm runs before it packs.
    folder = tmp_path_factory.mktemp("npm")
    shutil.copy(JS_MODULE, folder)
    package = json.loads((JS_MODULE.parent / "package.json").read_text())
    command = package["scripts"]["prepack"].split()
    subprocess.run([_TERSER, *command[1:]], cwd=folder, check=True, timeout=60)
    return folder / package["main"]


@pytest.fixture(scope="module", params=["node", "chromium"])
def host(request):
    """Return a function that computes features in JavaScript, or the text of what it throws."""
    if request.param == "chromium":
        with chromium.started() as browser:
            page = browser.new_page()
            yield lambda argument: page.evaluate(_COMPUTE, argument)
        return
    if not shutil.which("node"):
        chromium.missing("node was not found: run tools/install_browser.sh")
    # A line in, a line out.
    program = f"""const lines = require("readline").createInterface({{ input: process.stdin }});
        lines.on("line", (line) => ({_COMPUTE})(JSON.parse(line)).then(
            (found) => console.log(JSON.stringify(found))))"""
    command, pipe = ["node", "--input-type=commonjs", "-e", program], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as node:

        def compute(argument):
            node.stdin.write(json.dumps(argument) + "\n")
            node.stdin.flush()
            return json.loads(node.stdout.readline())

        yield compute
        node.stdin.close()


def computed(host, module, *pairs):
    """Return the float32 features of (map, x) pairs from JavaScript, or what was thrown."""
    jobs = [
        {
            "map": json.loads(json.dumps(to_js(m))),
            "x": base64.b64encode(np.asarray(x, dtype="<f8").tobytes()).decode(),
        }
        for m, x in pairs
    ]
    source = base64.b64encode(module.read_bytes()).decode()
    found = host({"module": source, "jobs": jobs})
    return [
        text
        if "Error" in text
        else np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(-1, m.D)
        for (m, _), text in zip(pairs, found, strict=True)
    ]


def test_known_answers(host, module):
    def static(D, positions):
        return computed(host, module, (StaticPrime(D), positions))[0]

    def dynamic(basis, x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConditioningWarning)
            arguments = (basis.d, 2 * basis.n_frequencies, basis.sigma)
            m = DynamicPrime(*arguments, basis=basis.name, layout="interleaved")
        return computed(host, module, (m, x))[0]

    answers = known_answers(static, dynamic)
    assert [name for name, right in answers.items() if not right] == []


def awkward_rows(m):
    """Rows up to the largest phase: small among large, ties, zeros, denormal numbers."""
    rng = np.random.default_rng(3)
    largest = 2.0**31.9 / m.basis.table.largest_l1_norm
    x = rng.uniform(-1.0, 1.0, (40, m.d)) * 10.0 ** rng.uniform(-30.0, 0.0, (40, m.d))
    x[:10] = rng.choice([-1.0, 1.0], (10, m.d)) / 2.0 ** rng.integers(0, 70, (10, m.d))
    x[10:25] *= 10.0 ** rng.uniform(-12.0, -7.0, (15, 1))
    x *= largest
    x[0], x[1, 0] = 0.0, 5e-324
    return x


@pytest.mark.parametrize("basis", ["paper", "table", "hadamard"])
def test_bits_up_to_the_largest_phases(host, basis):
    shapes = [(1, 2), (2, 6), (7, 30), (65, 262)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        maps = [DynamicPrime(d, D, s, basis=basis) for d, D in shapes for s in (1e-90, 0.37, 1e90)]
    pairs = [(m, awkward_rows(m)) for m in maps]
    for (m, x), z in zip(pairs, computed(host, JS_MODULE, *pairs), strict=True):
        np.testing.assert_array_equal(z.view("<u4"), m.encode(x).view(np.uint32), err_msg=repr(m))


def test_more_maps(host):
    t = np.array([0, 1, -1, 2**32 - 1, 2**32, 2**53 - 1, 1 - 2**53])
    statics = [
        StaticPrime(64, sigma=0.37, start=1000, layout="interleaved"),
        StaticPrime(8, sigma=1e20),
        StaticPrime(32, spacing="log"),
        StaticPrime(6, frequencies=[0.25, -0.1, 2.0**-33]),  # ties from the last one
    ]
    x = sample_points(20, 3)
    dynamics = [
        DynamicPrime(3, 10, [0.1, 2.0, 3e5, 0.7, 9.0]),
        DynamicPrime(3, 10, primes="log"),
        DynamicPrime(3, 260, basis="hadamard"),
    ]
    pairs = [*((s, t) for s in statics), *((m, x) for m in dynamics)]
    for (m, given), z in zip(pairs, computed(host, JS_MODULE, *pairs), strict=True):
        np.testing.assert_array_equal(z.view("<u4"), m.encode(given).view(np.uint32), repr(m))


def test_kernels(host):
    x = sample_points(20, 3)
    maps = [
        KernelPrime(3, 33, gamma=[0.1, 1.0, 7.0]),
        KernelPrime(3, 33, layout="block"),
        KernelPrime(3, 5, center=[0.1, 0.2, 0.3], form="offset"),
        KernelPrime(3, 64, "matern32", basis="hadamard"),
        KernelPrime(3, 256, gamma=0.5, method="lattice"),
        KernelPrime(3, 64, gamma=[0.5, 1.0, 2.0], method="lattice", layout="block"),
    ]
    for m, z in zip(maps, computed(host, JS_MODULE, *((m, x) for m in maps)), strict=True):
        np.testing.assert_array_equal(z.view("<u4"), m.encode(x).view(np.uint32), repr(m))


def test_what_has_no_bits_is_refused(host):
    m = DynamicPrime(1, 4)
    cases = [(m, [np.nan]), (m, [np.inf]), (m, [2.0**32]), (StaticPrime(4), [0.5])]
    assert all("RangeError" in error for error in computed(host, JS_MODULE, *cases))
    maps = KernelPrime(3, 8), DynamicPrime(3, 8), KernelPrime(3, 8, basis="hadamard")
    for error in computed(host, JS_MODULE, *((m, np.ones(4)) for m in maps)):
        assert "RangeError: 4 values are no rows of 3" in error
    for refused in (DynamicPrime(2, 4, layer_norm=True), DynamicPrime(2, 4, precision="fast"), "m"):
        with pytest.raises(ParameterError):
            to_js(refused)


def test_the_package_is_small_and_has_the_librarys_version(module):
    package = json.loads((JS_MODULE.parent / "package.json").read_text())
    assert package["version"] == primal.__version__
    if module.name == package["main"]:
        assert len(gzip.compress(module.read_bytes(), 9)) <= 5120
