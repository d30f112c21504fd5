"""Optional packages: which extra brings each, and the one sentence said when it is missing."""

import importlib
from typing import Any

from primal.errors import MissingPackageError

_DISTRIBUTION = "primal-features"
# By the name that is imported: the name people know, and the extra.
_PACKAGES = {
    "gpytorch": ("GPyTorch", "gp"),
    "matplotlib": ("matplotlib", "plot"),
    "numba": ("Numba", "fast"),
    "opendp": ("OpenDP", "privacy"),
    "onnx": ("ONNX", "onnx"),
    "pyarrow": ("pyarrow", "data"),
    "ray": ("Ray", "ray"),
    "scipy": ("SciPy", "codebooks"),
    "skl2onnx": ("skl2onnx", "onnx"),
    "sklearn": ("scikit-learn", "sklearn"),
    "torch": ("PyTorch", "torch"),
}


def install_hint(package: str) -> str:
    """Return the command that installs an optional package, given by its import name."""
    return f"pip install '{_DISTRIBUTION}[{_PACKAGES[package][1]}]'"


def require(module: str, what: str) -> Any:
    """Import an optional module and return it, or raise MissingPackageError: `what` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        name = _PACKAGES[package][0]
        absent = isinstance(error, ModuleNotFoundError) and error.name in (package, module)
        reason = "" if absent else f", which is installed and cannot be imported ({error})"
        raise MissingPackageError(f"{what} needs {name}{reason}: {install_hint(package)}.") from (
            None if absent else error
        )
