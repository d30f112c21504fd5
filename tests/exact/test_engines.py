"""Every engine conforms; and the choice between engines."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from c_core import require_core
from engine_conformance import EngineConformance

import primal
from primal._parallel import single_threaded_blas
from primal.errors import EngineError
from primal.exact import _engine as engines


class TestNumpy(EngineConformance):
    name = "numpy"


class TestNative(EngineConformance):
    """The best level of this machine; tests/native has the others."""

    name = "native"

    @pytest.fixture(autouse=True)
    def _installed(self):
        require_core()


@pytest.fixture
def no_choice(monkeypatch):
    monkeypatch.delenv("PRIMAL_ENGINE", raising=False)


def test_every_engine_is_tested():
    tested = {cls.name for cls in (TestNumpy, TestNative)}
    assert tested == set(engines.ENGINES)


def test_the_fastest_engine_is_the_default(no_choice):
    assert engines.engine().name == engines.installed_engines()[-1]


def test_the_environment_chooses(monkeypatch):
    monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    assert engines.engine().name == "numpy"
    monkeypatch.setenv("PRIMAL_ENGINE", "auto")
    assert engines.engine().name == engines.installed_engines()[-1]


def test_an_argument_goes_before_the_environment(monkeypatch):
    monkeypatch.setenv("PRIMAL_ENGINE", "no such engine")
    assert engines.engine("numpy").name == "numpy"


def test_an_unknown_engine_is_named_with_the_choices(monkeypatch):
    monkeypatch.setenv("PRIMAL_ENGINE", "fortran")
    with pytest.raises(EngineError) as caught:
        primal.StaticPrime(4).encode(1)
    for word in ("'fortran'", "numpy", "native", "PRIMAL_ENGINE"):
        assert word in str(caught.value)


@pytest.fixture
def no_core(monkeypatch, no_choice):
    monkeypatch.setattr(engines, "_native", lambda: None)
    monkeypatch.setattr(engines.native, "levels", tuple)
    monkeypatch.setattr(engines.native, "reason", lambda: "core.so was not built")
    engines._warn_without_core.cache_clear()


def test_the_native_engine_without_its_library_says_what_to_do(no_core):
    with pytest.raises(EngineError, match=r"core\.so was not built\): install .* C compiler"):
        engines.engine("native")


def test_without_the_c_core_the_default_is_numpy(no_core):
    assert engines.installed_engines() == ("numpy",)
    assert engines.engine().name == "numpy"


def test_without_the_c_core_one_large_call_warns(no_core, monkeypatch):
    with pytest.warns(RuntimeWarning, match="20 times slower: install"):
        engines.engine(n_phases=1 << 24)
    engines.engine(n_phases=1 << 24)  # once
    engines._warn_without_core.cache_clear()
    engines.engine(n_phases=1000)
    monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    engines.engine(n_phases=1 << 24)


@pytest.mark.parametrize("name", engines.ENGINES)
def test_maps_use_the_chosen_engine(name, monkeypatch):
    if name not in engines.installed_engines():
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("PRIMAL_ENGINE", name)
    chosen = engines.engine()
    calls = []
    original = type(chosen).features

    def watched(self, *arguments, **options):
        calls.append(self.name)
        return original(self, *arguments, **options)

    monkeypatch.setattr(type(chosen), "features", watched)
    primal.DynamicPrime(2, 4).encode(np.ones((3, 2)))
    assert name in calls


def test_every_thread_can_limit_the_threads_of_blas():
    """Also one that is not the first to try, while the first is alive."""
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def n_blas_threads() -> list[int]:
        listed = threadpoolctl.threadpool_info()
        return [found["num_threads"] for found in listed if "numpy" in found["filepath"]]

    def limited() -> list[int]:
        with single_threaded_blas():
            return n_blas_threads()

    before = n_blas_threads()
    if not before:
        pytest.skip("NumPy brings no BLAS library of its own here")
    with threadpoolctl.threadpool_limits(2):
        assert n_blas_threads() == [2]
        assert limited() == [1]
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(limited).result() == [1]
            assert limited() == [1]
        assert n_blas_threads() == [2]
    assert n_blas_threads() == before
