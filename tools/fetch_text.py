"""Make the text of the study of positions from packages of Debian 12, each known by its hash.

    python tools/fetch_text.py text.npz [--packages FOLDER]

Sources of documentation that people wrote: of Linux, Python, Perl, Vim and Git, and one book in
HTML, whose tags are dropped. Translations and files under 512 bytes are left out. A document is
a file. One in twenty, by the hash of its name, is for validation. `apt-get download` brings what
the folder of packages does not hold yet. The file has ``train`` and ``validation`` (uint8, whole
documents one after the other) and ``train_ends`` and ``validation_ends`` (int64, where each ends).
"""

from __future__ import annotations

import argparse
import hashlib
import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PACKAGES = {
    "linux-doc-6.1": (
        "6.1.176-1",
        "html/_sources/**/*.txt",
        "0d843674607703b9ef8c1db5e715c38ed52ff23574feabfe0d961d552126859f",
    ),
    "python3.11-doc": (
        "3.11.2-6+deb12u8",
        "html/_sources/**/*.txt",
        "50eb63e7f636c4281e9ce1b8f10386f1def42159eddce34fc1f41c46261df71b",
    ),
    "perl-doc": (
        "5.36.0-7+deb12u3",
        "**/*.pod",
        "e9e3564ff5ade27de0585835f2acad769bcc545c0a0045a9f55d5401f27f7591",
    ),
    "vim-runtime": (
        "2:9.0.1378-2+deb12u2",
        "**/doc/*.txt",
        "6a3dd2317a593742cb247f3494d986b3127887dbe1449253b8efa6112289854e",
    ),
    "git-doc": (
        "1:2.39.5-0+deb12u3",
        "**/*.txt",
        "3c89668a11053a6bafade3de1f611f4613db31e082af63f43d8c5b69ad8795ec",
    ),
    "anarchism": (
        "15.3-3",
        "**/*.html",
        "cf21c10948b00e923c62eb31c39a3390413fa26c5ee0e3b925feb0ec7fe42948",
    ),
}
SHA256_OF_TEXT = "24a9df9fc11545e02100b18bee4d8f3805989247a8b2c689ded3c8f15937f5a8"
LEAST_BYTES = 512
ONE_IN = 20


def main(argv: list[str] | None = None) -> None:
    """Write the file, or say which package is not the one that was measured with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--packages", type=Path, default=Path("text-packages"))
    chosen = parser.parse_args(argv)
    chosen.packages.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[bytes]] = {"train": [], "validation": []}
    for package in PACKAGES:
        for name, text in documents(fetched(package, chosen.packages), package):
            place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
            parts["train" if place % ONE_IN else "validation"].append(text)
    arrays = {}
    for part, texts in parts.items():
        arrays[part] = np.frombuffer(b"".join(texts), dtype=np.uint8)
        arrays[f"{part}_ends"] = np.cumsum([len(text) for text in texts])
        print(f"{part}: {len(texts)} documents, {len(arrays[part]):,} bytes")
    found = hashlib.sha256(b"".join(b"".join(texts) for texts in parts.values())).hexdigest()
    if found != SHA256_OF_TEXT:
        sys.exit(f"the text has SHA-256 {found}, and the study was made with {SHA256_OF_TEXT}.")
    np.savez_compressed(chosen.out, **arrays)


def fetched(package: str, folder: Path) -> Path:
    """Return the file of a package, downloaded if it is not there, with the right hash."""
    version, _, expected = PACKAGES[package]
    path = folder / f"{package}_{version.replace(':', '%3a')}_all.deb"
    if not path.exists():
        subprocess.run(["apt-get", "download", f"{package}={version}"], cwd=folder, check=True)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        sys.exit(f"{path.name} has SHA-256 {found}, not {expected}: take it from a snapshot.")
    return path


def documents(path: Path, package: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the documents of a package, by name."""
    pattern = PACKAGES[package][1]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", path, folder], check=True)
        root = Path(folder) / "usr/share"
        if "_sources" in pattern:
            pattern = f"doc/*/{pattern}"
        for file in sorted(root.glob(pattern)):
            name = f"{package}/{file.relative_to(root)}"
            if file.is_symlink() or not file.is_file() or "translations" in name:
                continue
            text = file.read_text("utf-8", errors="replace")
            if file.suffix == ".html":
                text = html.unescape(re.sub(r"<[^>]*>", "", text))
            if len(text) >= LEAST_BYTES:
                yield name, text.encode()


if __name__ == "__main__":
    main()
