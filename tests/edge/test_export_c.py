"""Headers on this machine: compilers, standards, sanitizers, golden digests, refusals."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from edge_cases import cases, expected, golden_answers, write_headers
from edge_targets import HOSTS, digest_program, digests, stream_program

import primal
from primal._selftest import GOLDEN
from primal.cli import cli
from primal.edge import SensorMap, export_c
from primal.edge._header import golden_digests
from primal.errors import DataError, ParameterError

ROWS = 200
_STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
OPTIONS = [
    (*_STRICT, "-std=c99", "-O0", "-Wpedantic"),
    (*_STRICT, "-std=gnu99", "-O3", "-mfma"),
    (*_STRICT, "-std=gnu++17", "-Os", "-mfma"),
]


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("headers")
    write_headers(folder)
    return folder


@pytest.fixture(params=HOSTS, ids=lambda target: target.name)
def host(request):
    request.param.require()
    return request.param


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options[4:6]))
def test_every_output_has_the_bits_of_python(host, headers, options):
    if " fma" not in Path("/proc/cpuinfo").read_text():
        options = tuple(option for option in options if option != "-mfma")
    assert digests(host, headers, list(cases()), ROWS, *options) == expected(ROWS)


def test_nothing_is_undefined(host, headers):
    options = ("-std=c99", "-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
    assert digests(host, headers, list(cases()), 20, *options) == expected(20)


def test_a_wrong_table_fails_the_self_test(host, headers, tmp_path):
    text = (headers / "table16.h").read_text()
    place = text.index("TABLE16_INCREMENTS[")
    value = re.compile(r"\b(\d+),").search(text, place)
    wrong = f"{text[: value.start()]}{int(value[1]) ^ 1},{text[value.end() :]}"
    (tmp_path / "table16.h").write_text(wrong)
    program = host.build(tmp_path, digest_program(["table16"], 0, 0))
    assert np.frombuffer(host.run(program), dtype="<u4")[0] == 1


@pytest.mark.filterwarnings("ignore::primal.errors.ConditioningWarning")
def test_golden_digests(tmp_path):
    HOSTS[0].require()
    answers = list(golden_answers(HOSTS[0], tmp_path, "-std=c99", "-O2"))
    assert len(answers) == len(GOLDEN) - 1  # all but the increments, which Python makes
    assert [(name, digest) for name, digest, _ in answers] == [(n, want) for n, _, want in answers]


def test_integer_waves_at_every_phase(host, tmp_path):
    # One input of 32 bits and one frequency: a sensor that counts phases.
    m = primal.DynamicPrime(1, 2, basis="kronecker", layout="interleaved")
    frequency = float(m.basis.frequencies[0, 0])
    sensor = SensorMap(m, 2.0**-32 / abs(frequency), kind="lsb32", inputs="int32")
    assert sensor.scheme.increments.tolist() in ([[1]], [[2**32 - 1]])
    n = (np.arange(2**20, dtype=np.uint32) << np.uint32(12)).view(np.int32)[:, None]
    export_c(sensor, tmp_path / "wave.h", name="wave")
    program = host.build(tmp_path, stream_program("wave", "encode_q15"), "-O2")
    z = np.frombuffer(host.run(program, n.tobytes()), dtype="<i2").reshape(-1, 2)
    np.testing.assert_array_equal(z, sensor.encode_q15(n))
    # Signs too, with both neighbors of the quadrant points.
    edges = (np.arange(4, dtype=np.uint32)[:, None] << np.uint32(30)) + np.uint32([0, 1, 2**32 - 1])
    n = edges.reshape(-1, 1).view(np.int32)
    program = host.build(tmp_path, stream_program("wave", "encode_bits"), "-O2")
    bits = np.frombuffer(host.run(program, n.tobytes()), dtype=np.uint8)
    np.testing.assert_array_equal(bits[:, None], sensor.encode_bits(n))


@pytest.mark.parametrize("option", ["-ffast-math", "-mfpmath=387"])
def test_compilers_that_change_bits_are_refused(headers, tmp_path, option):
    HOSTS[0].require()
    with pytest.raises(AssertionError, match="primal: "):
        HOSTS[0].build(headers, digest_program(["fixed"], 0, 0), option)


def test_headers_need_nothing_but_stdint(headers):
    for name in cases():
        text = (headers / f"{name}.h").read_text()
        assert re.findall(r"#include (.*)", text) == ["<stdint.h>"]
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert not re.search(r"\b(double|malloc|mem\w+|0x[0-9a-f.]+p)\b|PRIMAL_|primal_", code)


def test_the_report_counts_tables_memory_and_code(tmp_path, monkeypatch):
    HOSTS[0].require()
    model = cases()["model"]
    report = export_c(model, tmp_path / "m.h", name="m")
    # 16-bit increments, offsets, weights and biases.
    assert report.table_bytes == 48 * 20 * 2 + 48 * 4 + 96 * 5 * 2 + 5 * 4
    assert report.ram_bytes == 5 * 4
    code = report.code_bytes("gcc")
    assert code is not None
    assert 0 < code < 2000
    assert report.code_bytes("no-such-compiler") is None
    (tmp_path / "gcc-99").symlink_to(shutil.which("gcc"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert report.code_bytes("gcc-99") == code
    with pytest.raises(ParameterError, match="no-such-option"):
        report.code_bytes("gcc", "--no-such-option")
    # Of a call: factors are in the weights of a model, in 16 bits beside a map's increments.
    tables = [export_c(cases()[name], tmp_path / "f.h") for name in ("weighted", "weighted_model")]
    increments = 31 * 3 * 4 + 31 * 4
    assert [table.table_bytes for table in tables] == [
        increments + 31 * 2,
        increments + 62 * 3 * 2 + 3 * 4,
    ]
    assert all(0 < table.code_bytes("gcc") < 2000 for table in tables)
    words = export_c(cases()["words64"], tmp_path / "w.h")
    assert words.ram_bytes == 2 * 128 * 8  # two arrays of words: there are two blocks


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "Primal"}, "lowercase letter"),
        ({"name": "a-b"}, "lowercase letter"),
        ({"name": "int main"}, "lowercase letter"),
        ({"name": "a\n"}, "lowercase letter"),
        ({"name": "a" * 32}, "up to 30"),
        ({"name": ""}, "lowercase letter"),
        ({"name": b"a"}, "lowercase letter"),
        ({"scale": 2.0}, "scale"),
        ({"path": 3}, "path"),
    ],
)
def test_refusals(tmp_path, options, says):
    given = {"path": tmp_path / "x.h", **options}
    with pytest.raises(ParameterError, match=says):
        export_c(cases()["odd"], **given)
    assert not (tmp_path / "x.h").exists()


@pytest.mark.parametrize(("basis", "sigma"), [("hadamard", 1e-40), ("table", 1e-40)])
def test_frequencies_that_no_word_holds_are_refused(tmp_path, basis, sigma):
    m = primal.DynamicPrime(8, 16, sigma, basis=basis)
    with pytest.raises(ParameterError, match="too small"):
        export_c(SensorMap(m, 1.0, kind="q15"), tmp_path / "x.h")


@pytest.mark.parametrize("name", ["int", "main", "uint32", "linux", "a" * 31, "x__", "primal"])
def test_names_of_headers(name, host, tmp_path):
    export_c(cases()["model"], tmp_path / f"{name}.h", name=name)
    found = digests(host, tmp_path, [name], 2, *_STRICT, "-std=gnu99")
    assert found == [[0, *golden_digests(cases()["model"], range(2))]]


@pytest.mark.parametrize("place", ["new/x.h", "/dev/null/x.h", "n" * 300])
def test_a_place_that_cannot_be_written(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"cannot be written \(.*\): choose a folder that exists"):
        export_c(cases()["odd"], place)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ['a"b.h', "new\nline.h", "%s $x.h", "back\\slash.h", "\u00e9.h"])
def test_code_of_headers_with_any_name_is_measured(name, host, tmp_path):
    sizes = [
        export_c(cases()["odd"], tmp_path / path).code_bytes(host.compiler)
        for path in (name, "a.h")
    ]
    assert sizes[0] == sizes[1] > 0


def test_the_first_comment_is_whole(headers):
    for name, source in cases().items():
        text = (headers / f"{name}.h").read_text()
        comment, rest = text.split(" */\n", 1)
        assert rest.startswith(f"#ifndef {name.upper()}_HEADER")
        assert max(map(len, comment.splitlines())) <= 100
        assert " ".join(comment.split()) == (
            f"/* {source!r} Written by primal.edge.export_c: bit-identical to Python."
        )


def test_a_compiler_that_is_no_command_is_named_before_a_header_is_written(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(primal.StaticPrime(8).spec))
    paths = [str(tmp_path / name) for name in ("m.json", "m.h")]
    done = CliRunner().invoke(cli, ["export", "c", *paths, "--compiler", "cc '"])
    assert isinstance(done.exception, primal.PrimalError)
    assert "--compiler" in str(done.exception)
    assert not (tmp_path / "m.h").exists()
