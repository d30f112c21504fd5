"""What is known about a codebook, and how it is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from primal.codebooks import bounds
from primal.codebooks._metrics import optimality_ratio

__all__ = ["CodebookCertificate", "Evidence", "Verification"]


@dataclass(frozen=True)
class Evidence:
    """What a construction can say about its own codes; a certificate adds the bounds.

    `pair` holds indices i < j of two codes that attain the coherence, None when there is no pair
    or all pairs are orthogonal; `lag` is j - i in steps of a Toeplitz code, where it has one.
    """

    coherence: float
    pair: tuple[int, int] | None
    rms: float
    proof: str
    lag: int | None = None
    exact: bool = True


@dataclass(frozen=True)
class CodebookCertificate:
    """The numbers that justify a codebook.

    Attributes
    ----------
    kind, N, D, field
        Which codebook this is about.
    coherence : float
        Largest |cosine| between two codes; a lower estimate of it unless `exact`.
    pair : tuple of int or None
        Indices of two codes that attain it.
    lag : int or None
        Their distance, where the cosine depends on the distance alone.
    rms : float
        Root mean square of all cosines.
    welch, levenshtein : float
        Lower bounds on the coherence of any N codes in D dimensions.
    ratio : float
        coherence / welch: the paper's optimality ratio.
    best_bound, best_bound_name
        The strongest bound known here.
    exact : bool
        True when every pair is accounted for; False when pairs were sampled.
    proof : str
        How: "all lags", "closed form", "all pairs" or "sampled pairs", in a sentence.

    Notes
    -----
    An exact coherence is that of the codes before they are rounded to the output type, correct to
    1e-12. Rounding to float32 moves a cosine by less than 1e-6.
    """

    kind: str
    N: int
    D: int
    field: str
    coherence: float
    pair: tuple[int, int] | None
    lag: int | None
    rms: float
    welch: float
    levenshtein: float
    ratio: float
    best_bound: float
    best_bound_name: str
    exact: bool
    proof: str

    @classmethod
    def of(cls, kind: str, N: int, D: int, field: str, evidence: Evidence) -> CodebookCertificate:
        """Return the evidence of a construction with every bound beside it."""
        best = bounds.best(N, D, field)
        return cls(
            kind=kind,
            N=N,
            D=D,
            field=field,
            welch=bounds.welch(N, D),
            levenshtein=bounds.levenshtein(N, D, field),
            ratio=optimality_ratio(evidence.coherence, N, D),
            best_bound=best.value,
            best_bound_name=best.name,
            **vars(evidence),
        )

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
            ("certainty", f"{'exact' if self.exact else 'SAMPLED'}: {self.proof}"),
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
