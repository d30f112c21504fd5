"""The same bits on emulated chips; ``tools/edge_bars.py`` runs ten million values on each."""

import numpy as np
import pytest
from edge_cases import cases, expected, golden_answers, write_headers
from edge_targets import CHIPS, digest_program, digests

ROWS = 5
# One for each chip, and all of them over the chips; the tool tries every pair.
OPTIONS = {
    "cortex-m0": ("-std=c99", "-Os"),
    "cortex-m4f": ("-std=gnu99", "-Os"),
    "rv32imc": ("-std=c99", "-O0"),
    "rv32imafc": ("-std=gnu++17", "-O1"),
}


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("headers")
    write_headers(folder)
    return folder


@pytest.fixture(params=CHIPS, ids=lambda target: target.name)
def chip(request):
    request.param.require()
    return request.param


def test_every_output_has_the_bits_of_python(chip, headers):
    assert digests(chip, headers, list(cases()), ROWS, *OPTIONS[chip.name]) == expected(ROWS)


@pytest.mark.filterwarnings("ignore::primal.errors.ConditioningWarning")
def test_golden_digests(chip, tmp_path):
    for name, digest, golden in golden_answers(chip, tmp_path, "-std=c99", "-Os"):
        assert (name, digest) == (name, golden)


def test_fused_products_would_fail_the_self_test(tmp_path):
    chip = CHIPS[1]
    chip.require()
    write_headers(tmp_path)
    text = (tmp_path / "fixed.h").read_text()
    unguarded = text.replace("FIXED_KEEP(product);", "")
    assert unguarded != text
    (tmp_path / "fixed.h").write_text(unguarded)
    program = chip.build(tmp_path, digest_program(["fixed"], 0, 0), "-std=gnu99", "-Os")
    assert np.frombuffer(chip.run(program), dtype="<u4")[0] == 2


def test_instructions_are_counted_exactly(tmp_path):
    chip = CHIPS[0]
    chip.require()
    loop = """
const volatile int n = %d;
int main(void)
{
    for (volatile int i = 0; i < n; i++) {}
    return 0;
}
"""
    n_loops = (1, 1001, 3001)
    counts = [chip.instructions(chip.build(tmp_path, loop % n, "-O1")) for n in n_loops]
    each, rest = divmod(counts[1] - counts[0], 1000)
    assert (rest, counts[2] - counts[1]) == (0, 2000 * each)
    assert 4 <= each <= 12  # loads, add, store, compare, branch
