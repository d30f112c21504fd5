"""Chromium from the system (``tools/install_browser.sh``), driven by Playwright.

Without one its tests are skipped, except where ``CI`` or ``PRIMAL_REQUIRE_BROWSER`` is set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = [
    "--no-sandbox",  # root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def started() -> Iterator:
    """Give a Chromium without a screen."""
    executable = next(filter(None, map(shutil.which, _NAMES)), None)
    if executable is None:
        missing("no Chromium was found: run tools/install_browser.sh")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install playwright")
    with sync_playwright() as playwright:
        # A profile of its own, removed at the end, is what launch() makes.
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        yield browser
        browser.close()


def missing(reason: str) -> None:
    """Skip a test, or fail it where it is required."""
    if os.environ.get("CI") or os.environ.get("PRIMAL_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)
