"""Every engine conforms; and the choice between engines."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engine_conformance import EngineConformance

import primal
import primal.engines as engines
from primal._parallel import single_threaded_blas
from primal.errors import EngineError


class TestNumpy(EngineConformance):
    name = "numpy"


class TestNumba(EngineConformance):
    name = "numba"

    @pytest.fixture(autouse=True)
    def _installed(self):
        pytest.importorskip("numba")


@pytest.fixture
def no_choice(monkeypatch):
    monkeypatch.delenv("PRIMAL_ENGINE", raising=False)


def test_every_engine_is_tested():
    tested = {cls.name for cls in EngineConformance.__subclasses__()}
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
    for word in ("'fortran'", "numpy", "numba", "PRIMAL_ENGINE"):
        assert word in str(caught.value)


def test_an_engine_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(engines, "installed_engines", lambda: ("numpy",))
    with pytest.raises(EngineError, match=r"'numba' is not installed: pip install numba"):
        engines.engine("numba")


def test_without_numba_the_default_is_numpy(monkeypatch, no_choice):
    monkeypatch.setattr(engines, "_has_numba", lambda: False)
    assert engines.installed_engines() == ("numpy",)
    assert engines.engine().name == "numpy"


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
