"""x-transformers' tests of models with rotary embeddings, turned by ``PrimePositions.rotary``.

Their embedding hands out angles, which are applied elsewhere. Ours hands out the positions, and
they are turned where the angles would have been applied.
"""

from functools import cache

import torch
from x_transformers import x_transformers

from primal.torch import PrimePositions

_their_forward = x_transformers.RotaryEmbedding.forward


@cache
def layer(D):
    return PrimePositions(D)


def positions_as_angles(self, t, offset=0):
    angles, scale = _their_forward(self, t, offset)
    return t.expand(angles.shape[:-1])[..., None].expand(angles.shape), scale


def rotated(x, positions, scale=1):
    D, n = positions.shape[-1], x.shape[-2]
    positions = positions[:, -n:, 0]
    scale = scale[:, -n:] if isinstance(scale, torch.Tensor) else scale
    if x.ndim == 4:
        positions = positions[:, None]
        scale = scale[:, None] if isinstance(scale, torch.Tensor) else scale
    rows = x[..., :D].reshape(-1, D)
    places = positions.expand(x.shape[:-1]).reshape(-1).long()
    turned, _ = layer(D).rotary(rows, rows, places)
    return torch.cat((turned.reshape(*x.shape[:-1], D) * scale, x[..., D:]), dim=-1).to(x.dtype)


x_transformers.RotaryEmbedding.forward = positions_as_angles
x_transformers.apply_rotary_pos_emb = rotated
