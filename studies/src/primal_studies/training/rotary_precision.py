"""Error of rotary embeddings in narrow types: ours and rotary-embedding-torch.

    primal study rotary_precision

Both get the same frequencies and the same queries, and are compared with the rotation in float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

from primal.torch import PrimePositions
from primal_studies.training._common import table

D = 64


def main(argv: Sequence[str] | None = None) -> list[dict[str, object]]:
    """Print and return the largest errors, as shares of the largest entry."""
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    from rotary_embedding_torch import RotaryEmbedding

    positions = PrimePositions(D)
    rows = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for n in (64, 1024, 4096):
            torch.manual_seed(0)
            q = torch.randn(1, 2, n, D).to(dtype)
            true, _ = positions.rotary(q.double(), q.double(), seq_dim=-2)
            ours, _ = positions.rotary(q, q, seq_dim=-2)
            # A fresh one for each type: it keeps the angles of its first call.
            peer = RotaryEmbedding(dim=D, custom_freqs=positions.radians.float())
            found = [
                float((x.double() - true).abs().max() / true.abs().max())
                for x in (ours, peer.rotate_queries_or_keys(q))
            ]
            rows.append([str(dtype).removeprefix("torch."), n, *found])
    names = ["type", "positions", "primal", "rotary-embedding-torch"]
    print(table(names, ([*row[:2], *(f"{e:.1e}" for e in row[2:])] for row in rows)))
    return [dict(zip(names, row, strict=True)) for row in rows]


if __name__ == "__main__":
    main()
