"""Optional packages: what installs each, and the error where it is missing."""

import importlib
from typing import Any

from primal.errors import MissingPackageError

# By the name that is imported: the name people know, the extra of pyproject.toml, and what pip
# installs. The packages of an extra by their own names: that works in a checkout, for an installed
# copy, and whether or not an index has this package.
_PACKAGES = {
    "gpytorch": ("GPyTorch", "gp", "gpytorch botorch"),
    "opendp": ("OpenDP", "privacy", "opendp"),
    "onnx": ("ONNX", "onnx", "onnx onnxruntime"),
    "pyarrow": ("PyArrow", "arrow", "pyarrow"),
    "scipy": ("SciPy", "codebooks", "scipy"),
    "sklearn": ("scikit-learn", "sklearn", "scikit-learn"),
    "torch": ("PyTorch", "torch", "torch"),
}


def install_hint(package: str) -> str:
    """Return the command that installs an optional package, given by its import name."""
    return f"pip install {_PACKAGES[package][2]}"


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
