"""The ES module encodes, decodes and searches like Python, in Node and in Chromium."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import chromium
import numpy as np
import pytest
from vector_rows import COLUMNS, KINDS, given

from primal.edge import JS_MODULE
from primal.vectors import Index, VectorCodes

# Module, spec, rows and queries as text, and a saved index in; every result as base64 out.
_COMPUTE = """async ({module, jobs}) => {
    const { Index, VectorCodes } = await import("data:text/javascript;base64," + module);
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt());
    const letters = (a) => Array.from(new Uint8Array(a.buffer), (b) => String.fromCharCode(b));
    return jobs.map(({spec, x, file, q}) => {
        try {
            const codes = new VectorCodes(spec), index = new Index(bytes(file).buffer);
            const rows = codes.encode(new Float64Array(bytes(x).buffer));
            const found = q.map((row) => index.search(row, 7));
            const arrays = [rows.codes, rows.factors, rows.offsets, codes.decode(rows)];
            arrays.push(...found.map(({ids}) => Float64Array.from(ids)));
            arrays.push(...found.map(({scores}) => scores));
            return arrays.map((array) => btoa(letters(array).join("")));
        } catch (error) {
            return String(error);
        }
    });
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as started:
        yield started


@pytest.fixture(scope="module", params=["node", "chromium"])
def host(request, tmp_path_factory):
    """Return a function that runs jobs in JavaScript."""
    if request.param == "chromium":
        page = request.getfixturevalue("browser").new_page()
        return lambda argument: page.evaluate(_COMPUTE, argument)
    if not shutil.which("node"):
        chromium.missing("node was not found: run tools/install_browser.sh")
    folder = tmp_path_factory.mktemp("node")

    def compute(argument):
        (folder / "jobs.json").write_text(json.dumps(argument))
        program = f"""const jobs = JSON.parse(require("fs").readFileSync(process.argv[1]));
            ({_COMPUTE})(jobs).then((found) => console.log(JSON.stringify(found)))"""
        command = ["node", "--input-type=commonjs", "-e", program, folder / "jobs.json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    return compute


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def computed(host, jobs):
    """Return the results of jobs (codes, x, index, q)."""
    text = [
        {"spec": codes.spec, "x": encoded(x), "file": encoded(index), "q": q.tolist()}
        for codes, x, index, q in jobs
    ]
    return host({"module": encoded(JS_MODULE.read_bytes()), "jobs": text})


def encoded(content):
    return base64.b64encode(content).decode()


def test_codes_rows_ids_and_scores_are_those_of_python(host, tmp_path):
    jobs, expected = [], []
    for d in COLUMNS:
        for number, (bits, metric, centered) in enumerate(KINDS):
            if d > 400 and (number + d) % 5:
                continue
            x, center = given(d, metric, centered)
            codes = VectorCodes(d, bits, metric, center=center)
            second = VectorCodes(d, 8, metric, center=center) if bits == 2 else None
            index = Index(codes, rescore=second, oversample=1)
            index.add(x, ids=np.arange(len(x))[::-1] * 3 if centered else None)
            index.save(tmp_path / "index")
            q, rows = x[[0, 2, 8]], codes.encode(x)
            found = index.search(q, 7)
            jobs.append((codes, x.tobytes(), (tmp_path / "index").read_bytes(), q))
            arrays = [*rows, codes.decode(rows), *found.ids.astype(float), *found.scores]
            expected.append([array.tobytes() for array in arrays])
    for job, texts, arrays in zip(jobs, computed(host, jobs), expected, strict=True):
        assert isinstance(texts, list), (job[0], texts)
        assert [base64.b64decode(text) for text in texts] == arrays, job[0]


def test_wrong_rows_and_files_are_refused(host, tmp_path):
    codes = VectorCodes(2, 4, "l2")
    index = Index(codes)
    index.save(tmp_path / "index")
    file, q = (tmp_path / "index").read_bytes(), np.ones((1, 2))
    for row in ([np.nan, 1.0], [np.inf, 1.0], [1e20, 0.0], [1.0]):
        assert "RangeError" in computed(host, [(codes, np.array(row).tobytes(), file, q)])[0]
    other = file.replace(b"Index", b"Other")
    assert "RangeError" in computed(host, [(codes, b"", other, q)])[0]


def test_the_page_searches(browser, tmp_path):
    x = np.random.default_rng(0).random((40, 64))
    index = Index(VectorCodes(64, 4, "l2").fit(x), rescore=VectorCodes(64, 8, "l2").fit(x))
    index.add(x, ids=np.arange(100, 140))
    index.save(tmp_path / "index.safetensors")
    handler = partial(Files, directory=JS_MODULE.parent)
    with ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://localhost:{server.server_port}/vectors.html")
        page.set_input_files("#file", tmp_path / "index.safetensors")
        page.click("li:nth-child(8) button")  # row 7, as it decodes
        page.wait_for_function("document.querySelector('#status').textContent.includes('searched')")
        shown = [text.split(":") for text in page.locator("li").all_inner_texts()]
        server.shutdown()
    fine = VectorCodes(64, 8, "l2").fit(x)
    found = index.search(fine.decode(fine.encode(x[7:8]))[0], 60)
    assert [int(id_) for id_, _ in shown] == found.ids.tolist()
    np.testing.assert_allclose([float(score) for _, score in shown], found.scores, rtol=1e-3)
    assert shown[0][0] == "107"
