#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox"]
# ///

"""The same tasks as the Makefile, for whoever prefers nox: ``nox -s test``.

Every task runs in the environment that ``make`` sets up, so there is one list of what to install.
"""

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "none"


@nox.session
def test(session: nox.Session) -> None:
    """Format, lint, types and every test."""
    session.run("make", "test", external=True)


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Format, lint and types."""
    session.run("make", "lint", external=True)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The site, with warnings as errors."""
    session.run("make", "site", external=True)


if __name__ == "__main__":
    nox.main()
