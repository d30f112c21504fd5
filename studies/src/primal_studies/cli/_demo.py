"""``primal demo``: both algorithms on data it makes itself, in a few seconds."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import click
import numpy as np

from primal._files import written_figure
from primal.codebooks import bounds, toeplitz_statistics
from primal.engines import engine
from primal.maps import DynamicPrime, StaticPrime
from primal_studies.paper import circles, spiral

_SIGMA = 0.007
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
    picture = _picture(out, shapes, codebook)
    report = {
        "engine": engine().name,
        "round_trips": [{k: v for k, v in trip.items() if k != "z"} for trip in trips],
        "codebook": {k: v for k, v in codebook.items() if k != "similarities"},
        "bits": _digest([trip["z"] for trip in trips]),
        "picture": str(picture),
    }
    click.echo(json.dumps(report, indent=2) if as_json else _as_text(report))


def _round_trip(name: str, x: np.ndarray, D: int) -> dict:
    m = DynamicPrime(2, D, _SIGMA)
    z = m.encode(x)
    regime = m.regime(x)
    return {
        "shape": name,
        "D": D,
        "bound": m.bound,
        "largest_x": float(np.abs(x).max()),
        "regime": regime.kind,
        "fraction_wrapped": regime.fraction_wrapped,
        "mse": float(np.square(m.decode(z) - x).mean()),
        "z": z,
    }


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
        f"DynamicPrime, sigma = {_SIGMA}: encode to float32, decode by the pseudoinverse",
        "  shape      D    bound   max|x|  wrapped  regime    mean squared error",
    ]
    for trip in report["round_trips"]:
        lines.append(
            f"  {trip['shape']:<8}{trip['D']:>4}{trip['bound']:>9.3f}{trip['largest_x']:>9.3f}"
            f"{trip['fraction_wrapped']:>8.0%}   {trip['regime']:<9}{trip['mse']:>9.1e}"
        )
    book = report["codebook"]
    lines += [
        "  A phase that leaves half a turn wraps, and the linear inverse fails. At D = 128 these",
        "  shapes are larger than the bound; the one the paper prints lacks its 2 pi and hides it.",
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


def _picture(out: Path, shapes: dict[str, np.ndarray], codebook: dict) -> Path:
    """Draw input, latent and reconstruction of both shapes, and the codebook's similarities."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(14, 6.8), layout="constrained")
    for row, (name, x) in enumerate(shapes.items()):
        m = DynamicPrime(2, 4, _SIGMA)
        z = m.encode(x)
        colour = {"c": np.arange(len(x)), "cmap": "viridis", "s": 4}
        panels = (
            (f"{name}: input", x),
            ("latent z, two principal axes", _principal(z)),
            ("decoded from z, D = 4", m.decode(z)),
        )
        for axis, (title, points) in zip(axes[row], panels, strict=False):
            axis.scatter(points[:, 0], points[:, 1], **colour)
            axis.set_title(title)
            axis.set_aspect("equal", adjustable="datalim")
    wrapped = DynamicPrime(2, 128, _SIGMA)
    x = shapes["spiral"]
    decoded = wrapped.decode(wrapped.encode(x))
    axes[1, 3].scatter(decoded[:, 0], decoded[:, 1], c=np.arange(len(x)), cmap="viridis", s=4)
    share = wrapped.regime(x).fraction_wrapped
    axes[1, 3].set_title(f"spiral decoded, D = 128\n({share:.0%} of phases wrap)")
    similarities = codebook["similarities"]
    axes[0, 3].hist(similarities, bins=60, color="tab:blue")
    for sign in (-1, 1):
        axes[0, 3].axvline(
            sign * codebook["welch_bound"],
            color="black",
            linestyle="--",
            label="Welch bound" if sign > 0 else None,
        )
        axes[0, 3].axvline(
            sign * codebook["coherence"],
            color="tab:red",
            linestyle=":",
            label="worst" if sign > 0 else None,
        )
    axes[0, 3].set_title(f"similarities of {_N_CODES} codes, D = {_CODE_D}")
    axes[0, 3].set_xlabel("cosine at each lag")
    axes[0, 3].set_ylim(top=1.35 * axes[0, 3].get_ylim()[1])  # room for the legend
    axes[0, 3].legend(loc="upper center")
    path = out / _PICTURE
    written_figure(figure, path)
    plt.close(figure)
    return path


def _principal(z: np.ndarray) -> np.ndarray:
    centred = z - z.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:2].T
