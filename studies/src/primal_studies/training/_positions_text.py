"""Batches of the study of positions: text, and text with a pass key or a string to copy in it.

All randomness of a run is drawn before it starts, from one seed on the CPU, so that every method
sees the same bytes in the same order on every machine. Of eight rows one has a pass key and one
a string to copy; the others are plain text.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

__all__ = ["Draws", "Text", "draws", "load_text", "passkey_rows", "copy_rows", "training_rows"]

PASSKEY = "\nThe pass key is @@@@@. Remember it: @@@@@ is the pass key.\n"
QUESTION = "\nWhat is the pass key? The pass key is @@@@@"
N_DIGITS = 5
COPY, AGAIN = 1, 2  # bytes that the text does not use
SPECIAL_ROWS_OF_EIGHT = 1  # of each kind


class Text(NamedTuple):
    """Bytes of a part of the text, and where each document ends."""

    tokens: Tensor  # uint8
    ends: Tensor  # int64

    def windows(self, n: int, length: int, seed: int) -> Tensor:
        """Return n windows of length + 1 bytes, uint8, each inside one document."""
        starts = torch.cat((torch.zeros(1, dtype=torch.int64), self.ends[:-1]))
        rooms = (self.ends - starts - length).clamp(min=0)
        last = rooms.cumsum(0)
        if not int(last[-1]):
            raise ValueError(f"no document has more than {length} bytes: take a longer text.")
        pick = torch.randint(int(last[-1]), (n,), generator=torch.Generator().manual_seed(seed))
        document = torch.searchsorted(last, pick, right=True)
        first = starts[document] + pick - (last - rooms)[document]
        return self.tokens[first[:, None] + torch.arange(length + 1)]


def load_text(path: Path) -> dict[str, Text]:
    """Return the parts of a file of ``tools/fetch_text.py``: train and validation."""
    with np.load(path) as file:
        return {
            part: Text(torch.from_numpy(file[part]), torch.from_numpy(file[f"{part}_ends"]))
            for part in ("train", "validation")
        }


class Draws(NamedTuple):
    """What is random in the batches of a run, one entry for each step."""

    starts: Tensor  # (steps, batch) of windows in the text
    digits: Tensor  # (steps, special, N_DIGITS) bytes
    key_places: Tensor  # (steps, special) of the pass key
    letters: Tensor  # (steps, special, length // 2) bytes
    copy_sizes: Tensor  # (steps, special)
    copy_places: Tensor  # (steps, special)


def draws(n_bytes: int, steps: int, batch: int, length: int, seed: int) -> Draws:
    """Return the draws of a run; a string to copy has 8 letters to nearly half of the length."""
    generator = torch.Generator().manual_seed(seed)

    def number(shape: tuple[int, ...], high: int | Tensor, low: int = 0) -> Tensor:
        share = torch.rand(shape, generator=generator, dtype=torch.float64)
        return low + (share * (high - low)).to(torch.int64)

    special = batch * SPECIAL_ROWS_OF_EIGHT // 8
    one = (steps, special)
    sizes = number(one, length // 2 - 1, low=min(8, length // 2 - 2))
    return Draws(
        number((steps, batch), n_bytes - length - 1),
        number((*one, N_DIGITS), 10).to(torch.uint8) + ord("0"),
        number(one, max(1, length - len(PASSKEY) - len(QUESTION))),
        number((*one, length // 2), 26).to(torch.uint8) + ord("a"),
        sizes,
        number(one, length - 2 * sizes),
    )


def training_rows(tokens: Tensor, drawn: Draws, length: int) -> Tensor:
    """Return (batch, length + 1) tokens of one step, from draws of that step."""
    at = torch.arange(length + 1, device=tokens.device)
    rows = tokens[drawn.starts[:, None] + at].long()
    special = len(drawn.digits)
    keyed = passkey_rows(rows[:special], drawn.digits, drawn.key_places)
    copied = copy_rows(
        rows[special : 2 * special], drawn.letters, drawn.copy_sizes, drawn.copy_places
    )
    return torch.cat((keyed, copied, rows[2 * special :]))


def passkey_rows(rows: Tensor, digits: Tensor, places: Tensor) -> Tensor:
    """Return rows with a pass key at `places` and the question at their end, digits last."""
    n = rows.shape[1]
    end = torch.full_like(places, n - len(QUESTION))
    return _written(_written(rows, PASSKEY, digits, places), QUESTION, digits, end)


def copy_rows(rows: Tensor, letters: Tensor, sizes: Tensor, places: Tensor) -> Tensor:
    """Return rows with mark, letters, mark and the same letters from `places` on."""
    size = sizes[:, None]
    at = torch.arange(rows.shape[1], device=rows.device) - places[:, None]
    again = at > size
    within = torch.where(again, at - size - 1, at) - 1  # -1 at both marks
    inside = (at >= 0) & (at < 2 * size + 2)
    letter = letters.long().gather(1, within.clamp(0, letters.shape[1] - 1))
    mark = torch.where(again, AGAIN, COPY)
    return torch.where(inside, torch.where(within < 0, mark, letter), rows)


def _written(rows: Tensor, template: str, digits: Tensor, places: Tensor) -> Tensor:
    """Return rows with a template written from `places` on, its ``@`` being digits in turn."""
    at = torch.arange(rows.shape[1], device=rows.device) - places[:, None]
    inside = (at >= 0) & (at < len(template))
    at = at.clamp(0, len(template) - 1)
    # Built from whole numbers, not from Python's bytes: a recorded graph cannot copy from the host.
    letter = _table(template, rows.device)[at]
    digit = digits.long().gather(1, _digit_table(template, rows.device)[at])
    return torch.where(inside, torch.where(letter == ord("@"), digit, letter), rows)


_TABLES: dict[tuple[str, str, torch.device], Tensor] = {}


def _table(template: str, device: torch.device) -> Tensor:
    key = ("bytes", template, device)
    if key not in _TABLES:
        _TABLES[key] = torch.tensor(list(template.encode()), device=device)
    return _TABLES[key]


def _digit_table(template: str, device: torch.device) -> Tensor:
    """Return which digit each ``@`` of a template is."""
    key = ("digits", template, device)
    if key not in _TABLES:
        marks = torch.tensor([c == "@" for c in template])
        _TABLES[key] = ((marks.cumsum(0) - 1).clamp(min=0) % N_DIGITS).to(device)
    return _TABLES[key]
