"""``primal doctor``: what is installed, and does it make the golden bits?"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import warnings
from importlib.util import find_spec

import click
import numpy as np

import primal
from primal import native
from primal._parallel import n_threads
from primal._selftest import engine_answers, known_answers
from primal.cli._common import json_option
from primal.errors import ConditioningWarning
from primal.exact import ENGINES, Basis, engine, installed_engines

_TORCH = {  # device and backend
    "torch, CPU": ("cpu", "auto"),
    "torch, CPU, eager": ("cpu", "eager"),
    "torch, CUDA, eager": ("cuda", "eager"),
    "torch, CUDA, Triton": ("cuda", "triton"),
}
_OPTIONAL = ("scikit-learn", "torch", "triton")


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check this machine: versions, engines, and the golden bits of each engine.

    The exit status is 0 if every bit is what it should be, and 1 if any differs.

    \b
    Examples:
      primal doctor
      primal doctor --json > machine.json
    """
    engines = {name: engine_answers(name) for name in installed_engines()}
    if find_spec("torch") is not None:
        engines |= _torch_answers()
    versions = {name: _version(name) for name in ("numpy", "click", *_OPTIONAL)}
    report = {
        "primal": primal.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": n_threads(),
        "versions": versions,
        "engine_in_use": engine().name,
        "core": {"levels": native.levels(), "reason": native.reason()},
        "engines": engines,
        "not_found": [name for name in (*ENGINES, *_TORCH) if name not in engines],
        "healthy": all(all(checks.values()) for checks in engines.values()),
    }
    click.echo(json.dumps(report, indent=2) if as_json else _as_text(report))
    if not report["healthy"]:
        sys.exit(1)


def _torch_answers() -> dict[str, dict[str, bool]]:
    """Return the known answers of every backend of PyTorch that runs here."""
    import torch

    import primal.torch

    def answers(device: str, backend: str) -> dict[str, bool]:
        def static(D: int, positions: np.ndarray) -> np.ndarray:
            places = torch.from_numpy(positions.view(np.int64)).to(device)
            return primal.torch.StaticPrime(D).to(device)(places).cpu().numpy()

        def dynamic(basis: Basis, x: np.ndarray) -> np.ndarray:
            size, options = 2 * basis.n_frequencies, {"basis": basis.name, "layout": "interleaved"}
            m = primal.torch.DynamicPrime(basis.d, size, basis.sigma, **options)
            return m.to(device)(torch.from_numpy(x).float().to(device)).cpu().numpy()

        before = os.environ.get("PRIMAL_TORCH")
        os.environ["PRIMAL_TORCH"] = backend
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConditioningWarning)  # the paper's own basis
                return known_answers(static, dynamic)
        finally:
            if before is None:
                del os.environ["PRIMAL_TORCH"]
            else:
                os.environ["PRIMAL_TORCH"] = before

    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    backends = ("auto", "eager") if find_spec("triton") is None else ("auto", "eager", "triton")
    return {
        name: answers(device, backend)
        for name, (device, backend) in _TORCH.items()
        if device in devices and backend in backends
    }


def _as_text(report: dict) -> str:
    lines = [
        f"primal {report['primal']} on Python {report['python']}, {report['machine']}",
        "",
        *(f"  {name:<13}{found or 'not installed'}" for name, found in report["versions"].items()),
        "",
        f"engine in use: {report['engine_in_use']}, {report['threads']} threads",
        f"C core: {_core_in_words(report['core'])}",
    ]
    for name, checks in report["engines"].items():
        lines.append(f"{name}: {sum(checks.values())} of {len(checks)} known answers right")
        lines.extend(f"  WRONG  {check}" for check, ok in checks.items() if not ok)
    lines.extend(f"{name}: not found here, not checked" for name in report["not_found"])
    lines.append("")
    lines.append(
        "This machine makes the golden bits."
        if report["healthy"]
        else "This machine does NOT make the golden bits: please report the lines marked WRONG."
    )
    return "\n".join(lines)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _core_in_words(core: dict) -> str:
    if not core["levels"]:
        return (
            f"not loaded ({core['reason']}), NumPy computes the same bits, slower: install Primal "
            "from a wheel, or with a C compiler"
        )
    best, *others = core["levels"]
    return f"level {best}" + (f" (also here: {', '.join(others)})" if others else "")
