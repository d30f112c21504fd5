"""``primal doctor``: what is installed, and does it make the golden bits?"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys

import click

import primal
from primal._extras import install_hint
from primal._parallel import blas_is_limited, n_threads
from primal._selftest import known_answers
from primal.engines import engine, installed_engines

_OPTIONAL = {
    "numba": "fast",
    "scikit-learn": "sklearn",
    "torch": "torch",
    "matplotlib": "paper",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def doctor(as_json: bool) -> None:
    """Check this machine: versions, engines, and the golden bits of each engine.

    Exits with status 1 when any bit differs from what it should be.
    """
    report = _examine()
    click.echo(json.dumps(report, indent=2) if as_json else _as_text(report))
    if not report["healthy"]:
        sys.exit(1)


def _examine() -> dict:
    engines = {}
    for name in installed_engines():
        answers = known_answers(name)
        engines[name] = {answer.name: answer.ok for answer in answers}
    versions = {name: _version(name) for name in ("numpy", "click", *_OPTIONAL)}
    return {
        "primal": primal.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": n_threads(),
        "versions": versions,
        "engine_in_use": engine().name,
        "engines": engines,
        "healthy": all(all(checks.values()) for checks in engines.values()),
        "advice": _advice(versions),
    }


def _as_text(report: dict) -> str:
    lines = [
        f"primal {report['primal']} on Python {report['python']}, {report['machine']}, "
        f"{report['threads']} threads",
        "",
        *(
            f"  {name:<13}{version or 'not installed'}"
            for name, version in report["versions"].items()
        ),
        "",
        f"engine in use: {report['engine_in_use']}",
    ]
    for name, checks in report["engines"].items():
        lines.append(f"{name}: {sum(checks.values())} of {len(checks)} known answers right")
        lines.extend(f"  WRONG  {check}" for check, ok in checks.items() if not ok)
    lines.append("")
    lines.append(
        "This machine makes the golden bits."
        if report["healthy"]
        else "This machine does NOT make the golden bits: please report the lines marked WRONG."
    )
    lines.extend(report["advice"])
    return "\n".join(lines)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _advice(versions: dict[str, str | None]) -> list[str]:
    if versions["numba"] is None:
        return [f"For speed: {install_hint('numba')} (compiled loops, same bits)."]
    if not blas_is_limited():
        return [
            "The threads of NumPy's matrix library cannot be limited here, so they compete with "
            f"those of the numba engine: {install_hint('numba')} brings a threadpoolctl that can."
        ]
    return []
