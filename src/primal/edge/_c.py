"""``export_c``: one header in C99 that computes what a map or a model does."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primal._checks import file_path
from primal._files import disk_errors, written_whole
from primal.edge._fitted import as_sensor
from primal.edge._header import Header
from primal.edge._readout import SensorModel
from primal.edge._sensors import SensorMap
from primal.errors import ParameterError
from primal.maps import StaticPrime

_SMALL = ("-std=c99", "-Os", "-ffreestanding", "-fno-pic")


@dataclass(frozen=True)
class HeaderReport:
    """What a header takes on a chip, in bytes.

    Attributes
    ----------
    path : Path
    table_bytes : int
        Constant tables of one call, in flash: the label, or integer features if there is none.
    ram_bytes : int
        Static memory of the transforms of the Hadamard kinds, and scores on the stack; inputs and
        outputs are the caller's.
    """

    path: Path
    table_bytes: int
    ram_bytes: int
    _call: str

    def code_bytes(self, compiler: str = "cc", *options: str) -> int | None:
        """Return the bytes of code of that call.

        Compiled with -Os and the given options; None where the compiler or ``size`` is missing.
        """
        size = re.sub(r"(gcc|cc|clang)[-.\d]*$", "size", compiler)
        if not shutil.which(compiler) or not shutil.which(size):
            return None
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "call.c", Path(folder) / "call.o"
            # Not included: a name may have characters that C does not take there.
            source.write_bytes(self.path.read_bytes() + f"{self._call}\n".encode())
            command = [compiler, *_SMALL, *options, "-c", str(source), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise ParameterError(f"{' '.join(command)} failed: {done.stderr.strip()[:400]}")
            found = subprocess.run([size, made], check=True, capture_output=True, text=True)
        return int(found.stdout.splitlines()[1].split()[0]) - self.table_bytes

    def __str__(self) -> str:
        return f"{self.path}: {self.table_bytes:,} B of tables, {self.ram_bytes:,} B of RAM"


def export_c(model: Any, path: object, *, name: str = "primal", **options: Any) -> HeaderReport:
    """Write a C99 header that computes what a map or a fitted model does, bit for bit.

    The header needs <stdint.h> alone: no library, no float64, no memory from a heap. It has
    ``NAME_turns``, ``NAME_encode`` (float32), ``NAME_encode_q15``, ``NAME_encode_bits``, for a
    model ``NAME_scores`` and ``NAME_predict``, and with ``-DNAME_SELFTEST`` (in capitals)
    ``NAME_selftest``, which compares digests of golden outputs on the chip.

    Parameters
    ----------
    model : StaticPrime, SensorMap, SensorModel, or what `as_sensor` takes
    path : str or Path
        The header to write, in a folder that exists. It replaces an older one in one step.
    name : str, default="primal"
        Prefix of its names: up to 31 lowercase letters, digits and underscores.
    **options
        `scale`, `zero`, `kind` and `inputs` of :func:`as_sensor`.

    Returns
    -------
    report : HeaderReport
        What it takes on a chip: `table_bytes` of flash and `ram_bytes`; ``code_bytes(compiler)``
        compiles it.

    Examples
    --------
    >>> import primal
    >>> from primal.edge import export_c
    >>> print(export_c(primal.StaticPrime(64), "static.h"))
    static.h: 256 B of tables, 0 B of RAM
    """
    target = file_path("path", path)
    # C99 distinguishes names of 63 characters, and the templates add up to 18.
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        raise ParameterError(
            "name must be a lowercase letter and up to 30 lowercase letters, digits and _, got "
            f"{name!r:.60}: for example 'digits'."
        )
    if not isinstance(model, (StaticPrime, SensorMap, SensorModel)):
        model = as_sensor(model, **options)
    elif options:
        raise ParameterError(f"{', '.join(options)}: only for models that are not sensors yet.")
    header = Header(model)
    text, call = (
        re.sub(r"\bprimal_", f"{name}_", re.sub(r"\bPRIMAL_", f"{name.upper()}_", part))
        for part in (header.text(), header.call())
    )
    with disk_errors(target), written_whole(target) as stream:
        stream.write(text.encode())
    return HeaderReport(target, header.table_bytes, header.ram_bytes, call)
