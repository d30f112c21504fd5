"""``primal demo``: both algorithms on data it makes itself, in a few seconds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from primal._pictures import COLORS, GRID, SOFT, picture
from primal.codebooks import bounds, toeplitz_statistics
from primal.decoding import Box
from primal.engines import engine
from primal.maps import DynamicPrime, StaticPrime
from primal_studies.paper import circles, spiral

_SIGMA = 0.007
_REACH = 14.0  # the lattice decoder knows that inputs are within it
_N_CODES, _CODE_D = 1000, 64
_PICTURE = "primal-demo.png"


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder for the picture; made if it does not exist.  [default: this one]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def demo(out: Path, as_json: bool) -> None:
    """Encode and decode the paper's shapes, make a codebook, draw a picture."""
    shapes = {"spiral": spiral(), "circles": circles()}
    trips = [_round_trip(name, x, D) for D in (4, 128) for name, x in shapes.items()]
    codebook = _codebook()
    drawn = _picture(out, shapes["spiral"], codebook)
    report = {
        "engine": engine().name,
        "round_trips": [{k: v for k, v in trip.items() if k != "z"} for trip in trips],
        "codebook": {k: v for k, v in codebook.items() if k != "similarities"},
        "bits": _digest([trip["z"] for trip in trips]),
        "picture": str(drawn),
    }
    click.echo(json.dumps(report, indent=2) if as_json else _as_text(report))


def _round_trip(name: str, x: np.ndarray, D: int) -> dict:
    m = DynamicPrime(2, D, _SIGMA)
    z = m.encode(x)
    regime = m.regime(x)
    lattice = m.decode_plan(prior=Box(_REACH)).decode(z)
    return {
        "shape": name,
        "D": D,
        "bound": m.bound,
        "largest_x": float(np.abs(x).max()),
        "regime": regime.kind,
        "fraction_wrapped": regime.fraction_wrapped,
        "mse": _error(m.decode(z), x),
        "lattice_mse": _error(lattice.x, x),
        "fraction_unique": float((lattice.status == "unique").mean()),
        "z": z,
    }


def _error(found: np.ndarray, x: np.ndarray) -> float:
    return float(np.square(found - x).mean())


def _codebook() -> dict:
    s = StaticPrime(_CODE_D)
    worst = toeplitz_statistics(s.increments, _N_CODES, bins=1)
    welch = bounds.welch(_N_CODES, _CODE_D)
    # The similarity at lag l is the mean cosine of the code of l.
    similarities = s.waves(_N_CODES, dtype="float64")[1:, : _CODE_D // 2].mean(axis=1)
    return {
        "N": _N_CODES,
        "D": _CODE_D,
        "coherence": worst.coherence,
        "worst_lag": worst.pair[1],
        "welch_bound": welch,
        "ratio": worst.coherence / welch,
        "fingerprint": s.fingerprint,
        "similarities": similarities,
    }


def _as_text(report: dict) -> str:
    lines = [
        f"DynamicPrime, sigma = {_SIGMA}: encode to float32, decode; mean squared errors",
        "  shape      D    bound   max|x|  wrapped  regime     linear   lattice   unique",
    ]
    for trip in report["round_trips"]:
        lines.append(
            f"  {trip['shape']:<8}{trip['D']:>4}{trip['bound']:>9.3f}{trip['largest_x']:>9.3f}"
            f"{trip['fraction_wrapped']:>8.0%}   {trip['regime']:<9}{trip['mse']:>9.1e}"
            f"{trip['lattice_mse']:>10.1e}{trip['fraction_unique']:>8.0%}"
        )
    book = report["codebook"]
    lines += [
        "  A phase that leaves half a turn wraps, and the linear inverse fails. At D = 128 these",
        "  shapes are larger than the bound; the one the paper prints lacks its 2 pi and hides it.",
        "  The lattice decoder finds the whole turns. From 64 phases it proves its answers unique;",
        "  two phases of two inputs leave nothing to prove it with.",
        "",
        f"StaticPrime, {book['N']} codes in {book['D']} dimensions",
        f"  coherence {book['coherence']:.4f} at lag {book['worst_lag']}, "
        f"Welch bound {book['welch_bound']:.4f}: ratio {book['ratio']:.2f}",
        f"  fingerprint {book['fingerprint']}",
        "",
        f"bits of all features ({report['engine']} engine)",
        f"  sha256 {report['bits']}",
        "",
    ]
    lines.append(f"picture: {report['picture']}")
    return "\n".join(lines)


def _digest(arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<f4").tobytes())
    return digest.hexdigest()


def _picture(out: Path, x: np.ndarray, codebook: dict) -> Path:
    """Draw a shape through two maps and back by two decoders, and a codebook's similarities."""
    path = out / _PICTURE
    with picture(path, (13, 6), what="primal demo") as figure:
        maps, codes = figure.subfigures(1, 2, width_ratios=(3, 1.15))
        maps.suptitle(f"DynamicPrime, sigma = {_SIGMA}: a spiral there and back (input in gray)")
        for row, D in zip(maps.subplots(2, 3), (4, 128), strict=True):
            m = DynamicPrime(2, D, _SIGMA)
            z, wrapped = m.encode(x), m.regime(x).fraction_wrapped
            _dots(row[0], _principal(z), 1.1 * np.abs(_principal(z)).max())
            row[0].set_ylabel(f"D = {D}: {wrapped:.0%} of phases wrap")
            row[0].set_title("features z, two principal axes")
            for axis, name, found in (
                (row[1], "the paper's inverse", m.decode(z)),
                (row[2], "lattice decoder", m.decode_plan(prior=Box(_REACH)).decode(z).x),
            ):
                axis.plot(*x.T, color=GRID, linewidth=6, zorder=0)
                _dots(axis, found, _REACH)
                axis.set_title(f"{name}, error {_error(found, x):.0e}")
        _similarities(codes.subplots(), codebook)
    return path


def _dots(axis: Any, points: np.ndarray, reach: float) -> None:
    axis.scatter(*points.T, c=np.arange(len(points)), cmap="viridis", s=4)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=(), yticks=())


def _similarities(axis: Any, codebook: dict) -> None:
    axis.hist(codebook["similarities"], bins=60, color=COLORS["prime"])
    top = axis.get_ylim()[1]
    axis.set(xlabel="cosine at each lag", ylabel="lags", ylim=(0, 1.16 * top))
    axis.set_title(f"StaticPrime: {codebook['N']} codes, D = {codebook['D']}")
    for name, value, color, height, place in (
        ("Welch bound", codebook["welch_bound"], SOFT, 1.08, 0.0),
        ("worst", codebook["coherence"], COLORS["gaussian"], 0.9, 0.3),
    ):
        for at in (-value, value):
            axis.plot([at, at], [0, height * top], "--", color=color, linewidth=1.2)
        axis.text(place, (height + 0.01) * top, f"{name} ± {value:.2f}", color=color, ha="center")


def _principal(z: np.ndarray) -> np.ndarray:
    centred = z - z.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:2].T
