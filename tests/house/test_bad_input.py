"""Bad calls: every one ends in an error of ours that names the value and the rule."""

import numpy as np
import pytest

import primal
from primal import Basis, DynamicPrime, KernelPrime, PrimalError, StaticPrime
from primal.errors import DataError, MemoryLimitError, NotInvertibleError, ParameterError, SpecError

m = DynamicPrime(2, 4)
s = StaticPrime(4)
nan, inf = float("nan"), float("inf")
three_deep = np.zeros((2, 3, 2))
three_deep[1, 2, 0] = nan
spec, static_spec = m.spec, s.spec
read_only = np.zeros((3, 4), dtype=np.float32)
read_only.flags.writeable = False


def without(field):
    return {name: value for name, value in spec.items() if name != field}


# name: (call, error class, words of the message)
BAD_CALLS = {
    "D odd": (lambda: DynamicPrime(2, 5), ParameterError, ["D", "even", "5", "4 or 6"]),
    "D one": (lambda: DynamicPrime(2, 1), ParameterError, ["D", "even", "1", "use 2"]),
    "D zero": (lambda: DynamicPrime(2, 0), ParameterError, ["D", "at least", "0"]),
    "D negative": (lambda: StaticPrime(-4), ParameterError, ["D", "at least", "-4"]),
    "D fraction": (lambda: StaticPrime(4.0), ParameterError, ["D", "whole number", "4.0", "float"]),
    "D text": (lambda: StaticPrime("4"), ParameterError, ["D", "whole number", "'4'"]),
    "D none": (lambda: StaticPrime(None), ParameterError, ["D", "whole number", "None"]),
    "D boolean": (lambda: StaticPrime(True), ParameterError, ["D", "whole number", "True"]),
    "d zero": (lambda: DynamicPrime(0, 4), ParameterError, ["d", "at least 1", "0"]),
    "d negative": (lambda: DynamicPrime(-3, 4), ParameterError, ["d", "at least 1", "-3"]),
    "d fraction": (lambda: DynamicPrime(2.5, 4), ParameterError, ["d", "2.5"]),
    "d boolean": (lambda: DynamicPrime(np.True_, 4), ParameterError, ["d", "True"]),
    "k zero": (lambda: Basis("paper", 2, 0), ParameterError, ["n_frequencies", "at least 1", "0"]),
    "N negative": (lambda: s.waves(-1), ParameterError, ["N", "at least 0", "-1"]),
    "n zero": (lambda: s.decode(np.ones(4), n=0), ParameterError, ["n", "at least 1", "0"]),
    "start negative": (lambda: StaticPrime(4, start=-1), ParameterError, ["start", "-1"]),
    "shrink": (lambda: m.grow(2), ParameterError, ["D = 4", "2"]),
    "shrink a basis": (lambda: m.basis.grow(1), ParameterError, ["2 frequencies", "1"]),
    "grow to odd": (lambda: s.grow(7), ParameterError, ["even", "7", "6 or 8"]),
    "too many primes": (
        lambda: StaticPrime(2, start=203_280_221),
        ParameterError,
        ["203280222", "203,280,221"],
    ),
    "too many log primes": (
        lambda: Basis("paper", 2**11, 2**11, 1.0, "log").table,
        ParameterError,
        ["2,097,152", "4,194,304", "consecutive"],
    ),
    "too much memory for a basis": (
        lambda: DynamicPrime(10**6, 10**8),
        MemoryLimitError,
        ["50000000 x 1000000", "GB"],
    ),
    "too much memory for features": (
        lambda: s.waves(10**15),
        MemoryLimitError,
        ["1000000000000000", "GB"],
    ),
    "sigma zero": (lambda: DynamicPrime(2, 4, 0), ParameterError, ["sigma", "positive", "0.0"]),
    "sigma negative": (lambda: DynamicPrime(2, 4, -0.5), ParameterError, ["sigma", "-0.5"]),
    "sigma nan": (lambda: StaticPrime(4, sigma=nan), ParameterError, ["sigma", "finite", "nan"]),
    "sigma infinite": (
        lambda: StaticPrime(4, sigma=inf),
        ParameterError,
        ["sigma", "finite", "inf"],
    ),
    "sigma text": (lambda: DynamicPrime(2, 4, "0.5"), ParameterError, ["sigma", "number", "'0.5'"]),
    "sigma none": (lambda: DynamicPrime(2, 4, None), ParameterError, ["sigma", "number", "None"]),
    "sigma boolean": (lambda: DynamicPrime(2, 4, True), ParameterError, ["sigma", "True"]),
    "sigma huge integer": (
        lambda: DynamicPrime(2, 4, 10**400),
        ParameterError,
        ["sigma", "number"],
    ),
    "sigma complex": (lambda: DynamicPrime(2, 4, 1j), ParameterError, ["sigma", "1j"]),
    "sigma too short": (
        lambda: DynamicPrime(2, 8, [1.0, 2.0]),
        ParameterError,
        ["sigma", "D/2 = 4", "(2,)"],
    ),
    "sigma too deep": (
        lambda: DynamicPrime(2, 4, np.ones((2, 1))),
        ParameterError,
        ["sigma", "D/2 = 2", "(2, 1)"],
    ),
    "sigma ragged": (lambda: DynamicPrime(2, 4, [[1.0], [1.0, 2.0]]), ParameterError, ["sigma"]),
    "one sigma bad": (
        lambda: DynamicPrime(2, 4, [1.0, -2.0]),
        ParameterError,
        ["sigma[1]", "positive", "-2.0"],
    ),
    "sigma overflows": (
        lambda: DynamicPrime(2, 4, 1.7e308),
        ParameterError,
        ["sigma", "1.7e+308", "1e-100 to 1e+100"],
    ),
    "sigma denormal": (
        lambda: DynamicPrime(2, 64, 5e-324, basis="table"),
        ParameterError,
        ["sigma", "5e-324", "1e-100 to 1e+100"],
    ),
    "sigma given to a scalar map": (
        lambda: m.grow(8, sigma=[1, 1, 1, 1]),
        ParameterError,
        ["one number", "leave"],
    ),
    "sigma missing when growing": (
        lambda: DynamicPrime(2, 4, [1, 2]).grow(8),
        ParameterError,
        ["all 4 values"],
    ),
    "sigma changed when growing": (
        lambda: DynamicPrime(2, 4, [1, 2]).grow(8, sigma=[1, 3, 4, 5]),
        ParameterError,
        ["first 2 values"],
    ),
    "sigma scalar when growing": (
        lambda: DynamicPrime(2, 4, [1, 2]).grow(8, sigma=1.0),
        ParameterError,
        ["first 2 values"],
    ),
    "x nan": (lambda: m.encode([[1, 2], [3, nan]]), DataError, ["x", "nan", "row 1, column 1"]),
    "x infinite": (lambda: m.encode([-inf, 2]), DataError, ["x", "-inf", "column 0"]),
    "x nan deep inside": (lambda: m.turns(three_deep), DataError, ["nan", "row (1, 2), column 0"]),
    "x float16 infinite": (
        lambda: m.regime(np.array([[0, inf]], dtype=np.float16)),
        DataError,
        ["inf", "row 0, column 1"],
    ),
    "x too wide": (lambda: m.encode(np.zeros((5, 3))), DataError, ["x", "2 values", "(5, 3)"]),
    "x scalar": (lambda: m.encode(1.0), DataError, ["x", "2 values", "()"]),
    "x empty": (lambda: m.encode([]), DataError, ["x", "2 values", "(0,)"]),
    "x text": (lambda: m.encode([["a", "b"]]), DataError, ["x", "real numbers", "'a'"]),
    "x bytes": (lambda: m.encode(b"ab"), DataError, ["x", "real numbers", "b'ab'"]),
    "x none": (lambda: m.encode(None), DataError, ["x", "real numbers", "None"]),
    "x objects": (lambda: m.encode([[1, None]]), DataError, ["x contains None at row 0, column 1"]),
    "x ragged": (lambda: m.encode([[1, 2], [3]]), DataError, ["x", "rectangular"]),
    "x complex": (lambda: m.encode([[1j, 2]]), DataError, ["x", "real numbers", "complex128"]),
    "x dates": (
        lambda: m.encode(np.zeros((1, 2), dtype="M8[s]")),
        DataError,
        ["x", "real numbers", "datetime64"],
    ),
    "x longdouble": (
        lambda: m.encode(np.zeros((1, 2), dtype=np.longdouble)),
        DataError,
        ["x", "convert it to float64"],
    ),
    "x integers too large": (
        lambda: m.encode([[2**53 + 1, 0]]),
        DataError,
        ["x", str(2**53 + 1), "2**53"],
    ),
    "x integers too small": (
        lambda: m.encode(np.array([[-(2**63), 0]])),
        DataError,
        ["x", str(-(2**63)), "2**53"],
    ),
    "x masked": (
        lambda: m.encode(np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [0, 1]])),
        DataError,
        ["x is masked", "1 of 4 values are missing", "row 1, column 1", "fill"],
    ),
    "x a list with a masked row": (
        lambda: m.turns([np.ones(2), np.ma.masked_invalid([nan, 2.0])]),
        DataError,
        ["x is masked", "1 of 2", "column 0"],
    ),
    "z masked": (
        lambda: m.decode(np.ma.masked_greater(np.arange(4.0), 2)),
        DataError,
        ["z is masked", "column 3"],
    ),
    "position masked": (
        lambda: s.encode(np.ma.array([1, 2, 3], mask=[0, 1, 0])),
        DataError,
        ["t is masked", "1 of 3", "column 1"],
    ),
    "position a masked constant": (
        lambda: s.encode([1, np.ma.masked]),
        DataError,
        ["masked", "the only entry"],
    ),
    "x huge": (lambda: m.encode([[0, 0], [1e300, 1]]), DataError, ["row 1", "1e+300", "32"]),
    "x huge for fast": (
        lambda: DynamicPrime(2, 4, precision="fast").encode([[1e7, 0]]),
        DataError,
        ["row 0", "1e+07", "2**20"],
    ),
    "x largest float": (lambda: m.turns([[1.7e308, 0]]), DataError, ["row 0", "1.7e+308"]),
    "z nan": (lambda: m.decode([1, 0, nan, 0]), DataError, ["z", "nan", "column 2"]),
    **{
        f"z of {dtype} for {name}": (
            lambda decode=decode, dtype=dtype: decode(np.ones((2, 4), dtype)),
            DataError,
            ["z must contain cosines and sines as floats", f"got {dtype}"],
        )
        for name, decode in {
            "DynamicPrime": m.decode,
            "KernelPrime": KernelPrime(2, 4).decode,
            "StaticPrime": lambda z: s.decode(z, n=5),
        }.items()
        for dtype in ("int8", "bool", "int64", "uint8")
    },
    "waves of a plan of int8": (
        lambda: m.decode_plan(prior=primal.Box(1.0)).decode(np.ones((2, 4), np.int8)),
        DataError,
        ["z must contain cosines and sines as floats", "got int8"],
    ),
    "z too narrow": (lambda: m.decode(np.zeros((5, 3))), DataError, ["z", "4 values", "(5, 3)"]),
    "flag as array": (
        lambda: s.decode(np.ones(4), n=5, return_similarity=np.array([True, False])),
        ParameterError,
        ["return_similarity", "True or False", "array"],
    ),
    "certain as text": (
        lambda: s.decode(np.ones(4), n=5, return_certain="yes"),
        ParameterError,
        ["return_certain", "True or False", "'yes'"],
    ),
    "z text": (lambda: s.decode(["a"] * 4, n=5), DataError, ["z", "'a'"]),
    "not invertible": (
        lambda: DynamicPrime(3, 4).decode(np.zeros(4)),
        NotInvertibleError,
        ["D = 4", "d = 3", "D = 6"],
    ),
    "position too large": (lambda: s.encode(2**63 + 1), DataError, [str(2**63 + 1), "2**63"]),
    "position too small": (lambda: s.encode([0, -(2**63) - 1]), DataError, [str(-(2**63) - 1)]),
    "position too large in uint64": (
        lambda: s.encode(np.array([2**64 - 1], dtype=np.uint64)),
        DataError,
        [str(2**64 - 1)],
    ),
    "position float": (lambda: s.encode([1, 2.0]), DataError, ["2.0", "float", "index 1"]),
    "position float array": (lambda: s.encode(np.ones(3)), DataError, ["1.0", "float"]),
    "position boolean": (lambda: s.encode([True]), DataError, ["True", "bool"]),
    "position boolean array": (lambda: s.encode(np.array([False])), DataError, ["False"]),
    "position text": (lambda: s.encode("7"), DataError, ["'7'", "str"]),
    "position none": (lambda: s.encode(None), DataError, ["None"]),
    "position ragged": (lambda: s.encode([[1], [2, 3]]), DataError, ["[1]", "list"]),
    "offset too large": (lambda: s.waves(1, offset=2**63), DataError, [str(2**63 + 1)]),
    "offset too small": (lambda: s.waves(1, offset=-(2**63) - 1), PrimalError, ["offset"]),
    "offset float": (lambda: s.waves(1, offset=0.5), PrimalError, ["offset", "0.5"]),
    "layout": (
        lambda: DynamicPrime(2, 4, layout="rows"),
        ParameterError,
        ["layout", "'rows'", "block"],
    ),
    "layout of static": (
        lambda: StaticPrime(4, layout=3),
        ParameterError,
        ["layout", "3", "block"],
    ),
    "precision": (
        lambda: DynamicPrime(2, 4, precision="half"),
        ParameterError,
        ["'half'", "exact"],
    ),
    "basis": (lambda: DynamicPrime(2, 4, basis="raw"), ParameterError, ["basis", "'raw'", "auto"]),
    "basis unhashable": (lambda: Basis([], 2, 4), ParameterError, ["basis", "[]"]),
    "primes": (
        lambda: DynamicPrime(2, 4, primes="odd"),
        ParameterError,
        ["primes", "'odd'", "log"],
    ),
    "pool of primes": (
        lambda: DynamicPrime(2, 4, primes="log-21"),
        ParameterError,
        ["primes", "'log-21'", "from 1 to 20"],
    ),
    "log primes of a Gaussian basis": (
        lambda: DynamicPrime(2, 4, basis="auto", primes="log"),
        ParameterError,
        ["log", "'kronecker'", "paper"],
    ),
    "layer_norm": (lambda: DynamicPrime(2, 4, layer_norm=1), ParameterError, ["layer_norm", "1"]),
    "dtype": (lambda: m.encode([1, 2], dtype="float16"), ParameterError, ["'float16'", "float32"]),
    "dtype unknown": (lambda: s.encode(1, dtype="double-ish"), ParameterError, ["'double-ish'"]),
    "dtype integer": (lambda: s.encode(1, dtype=np.int64), ParameterError, ["'int64'", "float64"]),
    "out shape": (
        lambda: m.encode(np.zeros((3, 2)), out=np.zeros((3, 5), dtype=np.float32)),
        DataError,
        ["out", "(3, 4)", "(3, 5)"],
    ),
    "out type": (
        lambda: m.encode(np.zeros((3, 2)), out=np.zeros((3, 4))),
        DataError,
        ["out", "float32", "float64"],
    ),
    "out list": (lambda: s.waves(3, out=[0.0]), DataError, ["out", "list"]),
    "out read-only": (lambda: s.waves(3, out=read_only), DataError, ["out", "writeable"]),
    "out strided": (
        lambda: s.waves(3, out=np.zeros((3, 8), dtype=np.float32)[:, ::2]),
        DataError,
        ["out", "contiguous"],
    ),
    "spec version": (
        lambda: primal.from_spec(spec | {"version": 99}),
        SpecError,
        ["version 1", "DynamicPrime", "99", "install"],
    ),
    "spec without version": (
        lambda: primal.from_spec(without("version")),
        SpecError,
        ["version 1", "None"],
    ),
    "spec missing": (lambda: primal.from_spec(without("sigma")), SpecError, ["lacks", "sigma"]),
    "spec extra": (
        lambda: primal.from_spec(static_spec | {"colour": "red"}),
        SpecError,
        ["has", "colour"],
    ),
    "spec missing and extra": (
        lambda: primal.from_spec(without("d") | {"colour": 1}),
        SpecError,
        ["lacks d", "has colour"],
    ),
    "spec of another map": (
        lambda: primal.from_spec(spec | {"type": "ChaoticPrime"}),
        SpecError,
        ["type", "'ChaoticPrime'", "StaticPrime"],
    ),
    "spec without type": (lambda: primal.from_spec(without("type")), SpecError, ["type None"]),
    "spec of a wrong start": (
        lambda: primal.from_spec(s.spec | {"start": -1}),
        SpecError,
        ["start must be at least 0", "-1"],
    ),
    "spec of a wrong kernel": (
        lambda: primal.from_spec(KernelPrime(2, 4).spec | {"gamma": "wide"}),
        SpecError,
        ["gamma must be a number"],
    ),
    "method as an array": (
        lambda: KernelPrime(2, 4, method=np.array(["auto", "lattice"])),
        ParameterError,
        ["method must be one of", "auto"],
    ),
    "spec of a list": (lambda: primal.from_spec([1]), SpecError, ["mapping", "list"]),
    "spec of a string": (
        lambda: primal.from_spec('{"map": "dynamic"}'),
        SpecError,
        ["mapping", "str", "dynamic", "json.loads"],
    ),
    "spec of none": (lambda: primal.from_spec(None), SpecError, ["mapping", "NoneType"]),
    "spec with a bad value": (
        lambda: primal.from_spec(spec | {"D": 5}),
        SpecError,
        ["spec of a DynamicPrime is wrong", "even", "5", "use 4 or 6"],
    ),
    "spec with an unhashable type": (
        lambda: primal.from_spec(spec | {"type": []}),
        SpecError,
        ["[]"],
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_call(case):
    call, error, words = BAD_CALLS[case]
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, PrimalError)
    for word in words:
        assert word in str(caught.value)


def test_every_error_of_ours_is_a_value_error():
    errors = [getattr(primal.errors, name) for name in primal.errors.__all__]
    raised = [e for e in errors if not issubclass(e, Warning)]
    assert len(raised) == 8
    assert all(issubclass(e, PrimalError) for e in raised)
    assert issubclass(PrimalError, ValueError)
    warned = [e for e in errors if issubclass(e, Warning)]
    assert len(warned) == 4
    assert all(issubclass(e, primal.NumericalWarning) for e in warned)
    assert issubclass(primal.NumericalWarning, RuntimeWarning)


def test_a_failed_call_leaves_out_alone():
    out = np.full((1, 4), 7.0, dtype=np.float32)
    with pytest.raises(DataError):
        m.encode([[nan, 1]], out=out)
    with pytest.raises(DataError):
        m.encode([[1e300, 1]], out=out)
    np.testing.assert_array_equal(out, 7.0)


def test_a_masked_array_with_nothing_missing_is_an_array():
    x = np.array([[1.0, 2.0]])
    np.testing.assert_array_equal(m.encode(np.ma.array(x)), m.encode(x))
    np.testing.assert_array_equal(s.encode(np.ma.array([3, 4])), s.encode([3, 4]))


def test_the_largest_values_that_are_not_refused():
    assert m.encode([[2.0**29, 0.0]]).shape == (1, 4)
    assert DynamicPrime(2, 4, 1e-9).encode([[2**53, -(2**53)]]).shape == (1, 4)
    assert DynamicPrime(2, 4, 1e-100).encode([[1e108, -1e108]]).shape == (1, 4)
    assert s.encode([2**63, -(2**63)]).shape == (2, 4)
    assert s.waves(1, offset=2**63 - 1).shape == (1, 4)
    assert s.waves(1, offset=-(2**63)).shape == (1, 4)
