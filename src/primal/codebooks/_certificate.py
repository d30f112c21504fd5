"""What is known about a codebook, how it is known, and whether its codes agree."""

from dataclasses import asdict, dataclass
from typing import NamedTuple


class Evidence(NamedTuple):
    """What a construction can say about its own codes; a certificate adds RMS and bounds."""

    coherence: float
    pair: tuple[int, int] | None
    proof: str
    lag: int | None = None


@dataclass(frozen=True)
class CodebookCertificate:
    """The numbers that justify a codebook of this `kind`, `N`, `D` and `field`.

    Attributes
    ----------
    coherence : float
        Largest |cosine| between two codes before they are rounded to the output type, correct to
        1e-12 (float32 moves a cosine by less than 1e-6).
    pair : tuple of int or None
        Indices i < j of two codes that attain it; None where all are orthogonal.
    rms : float
        Root mean square of all cosines.
    proof : str
        How every pair is accounted for: "all lags" or "closed form", in a sentence.
    lag : int or None
        Distance of the pair, where the cosine depends on the distance alone.
    welch, levenshtein : float
        Lower bounds on the coherence of any N codes in D dimensions.
    ratio : float
        coherence / welch: the paper's optimality ratio, of which 1 is perfect. Where welch is 0,
        for N <= D, it is 1 for orthogonal codes, else infinite.
    best_bound, best_bound_name
        The strongest bound known here.
    """

    coherence: float
    pair: tuple[int, int] | None
    rms: float
    proof: str
    lag: int | None
    kind: str
    N: int
    D: int
    field: str
    welch: float
    levenshtein: float
    ratio: float
    best_bound: float
    best_bound_name: str

    def as_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self) | {"pair": None if self.pair is None else list(self.pair)}

    def __str__(self) -> str:
        place = "" if self.pair is None else f" at codes {self.pair[0]} and {self.pair[1]}"
        place += "" if self.lag is None else f" (lag {self.lag})"
        rows = [
            ("codes", f"{self.N} in {self.D} dimensions, {self.field}, kind {self.kind}"),
            ("coherence", f"{self.coherence:.6f}{place}"),
            ("rms", f"{self.rms:.6f}"),
            ("Welch bound", f"{self.welch:.6f}"),
            ("Levenshtein", f"{self.levenshtein:.6f}"),
            ("ratio", f"{self.ratio:.3f} times Welch"),
            ("best bound", f"{self.best_bound:.6f} ({self.best_bound_name})"),
            ("proof", self.proof),
        ]
        return "\n".join(f"{name:<12}  {value}" for name, value in rows)


@dataclass(frozen=True)
class Verification:
    """Result of checking a certificate against the codes themselves.

    `largest` is the largest |cosine| met among `n_pairs` pairs, at `pair`; `ok` says that it
    does not exceed the certificate and that the certified pair attains what it should.
    """

    n_pairs: int
    full: bool
    largest: float
    pair: tuple[int, int] | None
    ok: bool
