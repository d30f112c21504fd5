"""What the commands share: the option ``--json`` and the progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class Progress(Protocol):
    """A callback for steps done of a total, None where that is not known."""

    def __call__(self, done: int, total: int | None, label: str = ...) -> None: ...


@contextmanager
def progress_bar(usual: str) -> Iterator[Progress]:
    """Yield a callback that draws a bar on standard error; a new label begins a new bar."""
    bar: Any = None
    first, start = 0, 0.0
    with ExitStack() as shown:

        def progress(done: int, total: int | None, label: str = usual) -> None:
            nonlocal bar, first, start
            if bar is None or bar.label != label:
                shown.close()
                first, start = done, time.time()
                bar = click.progressbar(length=1, label=label, show_pos=True, file=sys.stderr)
                bar.length = total
                shown.enter_context(bar)
            elif done > first:
                # What was there at the first call, from an earlier run for instance, took no time.
                now = time.time()
                bar.start = now - (now - start) * done / (done - first)
            bar.length = total
            bar.update(max(0, done - bar.pos))

        yield progress
