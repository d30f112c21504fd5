"""A connection to a Ray cluster that is quick to fail and keeps quiet."""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, NoReturn

from primal._extras import require
from primal.errors import EngineError
from primal.pipeline._passing import passing

__all__ = ["connected", "fail", "import_ray"]


def import_ray() -> Any:
    """Return the package, with its data part."""
    require("ray.data", "engine 'ray'")
    return require("ray", "engine 'ray'")


@contextmanager
def connected(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to a cluster for as long as the context lasts, unless that is done already."""
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here):
            fail(f"this process is connected to the Ray cluster at {here}, not to {address!r}")
        with _quiet_log():
            yield
        return
    # Without "local" Ray would join any cluster that was started on this machine.
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    _check_listens(where)
    try:
        with _quiet_backend():
            ray.init(
                address=where,
                include_dashboard=False if where == "local" else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except Exception as error:  # Ray raises what it likes, assertions too
        fail(f"no Ray cluster at {where!r}: {error}")
    try:
        with _quiet_thread(), _quiet_log():
            yield
    finally:
        with redirect_stdout(io.StringIO()):  # it prints what its thread held back
            ray.shutdown()


def _check_listens(where: str) -> None:
    """Raise at once where no one listens; Ray would try for minutes."""
    host, colon, port = where.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdigit()):
        return  # "local" or "auto"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
    except (OSError, OverflowError) as error:
        fail(f"no Ray cluster at {where!r}: {error}")


def fail(reason: str) -> NoReturn:
    """Raise an error for what can be mended; blocks that are finished stay."""
    raise passing(reason, EngineError) from None


@contextmanager
def _quiet_log() -> Iterator[None]:
    """Keep the log of Ray Data from the screen; it stays in Ray's own files."""
    screens = [
        h for h in logging.getLogger("ray.data").handlers if isinstance(h, logging.StreamHandler)
    ]
    levels = [handler.level for handler in screens]
    for handler in screens:
        handler.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for handler, level in zip(screens, levels, strict=True):
            handler.setLevel(level)


@contextmanager
def _quiet_backend() -> Iterator[None]:
    """Keep the core of Ray, begun in this context, from writing its log to standard error.

    It takes the level from the environment, and writes that it did.
    """
    name = "RAY_BACKEND_LOG_LEVEL"
    if name in os.environ:
        yield
        return
    os.environ[name] = "fatal"
    sys.stderr.flush()
    screen, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(screen, 2)
        os.close(screen)
        os.close(nowhere)
        os.environ.pop(name, None)


@contextmanager
def _quiet_thread() -> Iterator[None]:
    """Drop what a thread of Ray prints about lost nodes: standard output is the caller's."""
    before = sys.stdout
    ours = sys.stdout = _WithoutRay(before)
    try:
        yield
    finally:
        if sys.stdout is ours:
            sys.stdout = before


class _WithoutRay:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.current_thread().name.startswith("ray_"):
            return len(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
