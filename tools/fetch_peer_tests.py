"""Download the tests of other libraries that ``tests/peers`` runs on ours, once, from PyPI.

Only packages whose wheel does not hold their tests are fetched: pip downloads the sdist that
``tests/peers/deviations.toml`` names, compares its hash, and the tests in it go to
``.peer-tests/``. Without a network nothing is fetched, and those tests are skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SECONDS = 300


def main() -> None:
    tables = tomllib.loads((ROOT / "tests" / "peers" / "deviations.toml").read_text())
    for package, table in tables.items():
        target = ROOT / ".peer-tests" / f"{package}-{table['version']}"
        if table["sha256"] and not target.exists():
            try:
                fetch(package, table["version"], table["sha256"], table["tests"], target)
            except (OSError, subprocess.SubprocessError, tarfile.TarError, KeyError) as error:
                print(f"{package}: its tests are not there and will be skipped: {error}")


def fetch(package: str, version: str, sha256: str, tests: str, target: Path) -> None:
    """Put one file of tests of a package's sdist into a folder, which then is complete."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{package}=={version} --hash=sha256:{sha256}\n")
        # Of this package alone the sdist: what pip builds its metadata with may be wheels.
        options = ["--no-deps", "--no-binary", package, "--require-hashes", "-r", str(wanted)]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--retries",
                "1",
                "-d",
                made,
                *options,
            ],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise OSError(lines[-1] if lines else "pip failed")
        (sdist,) = folder.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            top = archive.getnames()[0].partition("/")[0]
            stream = archive.extractfile(f"{top}/{tests}")
            content = b"" if stream is None else stream.read()
        complete = folder / "complete"
        (complete / tests).parent.mkdir(parents=True)
        (complete / tests).write_bytes(content)
        target.parent.mkdir(exist_ok=True)
        shutil.move(complete, target)
    print(f"{package} {version}: {tests} is in {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
