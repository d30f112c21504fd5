"""A secret key, and the streams of bytes that are derived from it.

BLAKE2b with a key is a pseudorandom function. One call binds the secret to an application and a
version, further calls with a counter make a stream for each purpose. Nothing here prints, stores
or raises the secret, or anything derived from it.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import NoReturn

import numpy as np

from primal._arithmetic import unit_fractions
from primal._checks import raised_as, whole_number
from primal.errors import ParameterError

_LEAST_BYTES, _MOST_BYTES = 16, 64
_DERIVATION = b"primal.privacy.1"


class Key:
    """A secret for one application and one version of it.

    Parameters
    ----------
    secret : bytes
        16 to 64 bytes from a source of randomness, for instance ``secrets.token_bytes(32)``. A
        password is not such a source.
    application : str
        What the key is for. Keys of two applications have nothing in common, though the secret is
        the same.
    version : int, default=1
        Counts renewals: the next version of a key has nothing in common with this one either.

    Notes
    -----
    A key has no text form and cannot be pickled or copied into a spec: keep the secret in a vault,
    never beside the templates.

    Examples
    --------
    >>> from primal.privacy import Key
    >>> Key(bytes(range(32)), application="door", version=2)
    Key(application='door', version=2, secret hidden)
    """

    def __init__(self, secret: bytes, *, application: str, version: int = 1) -> None:
        try:
            if not isinstance(application, str) or not application:
                raise ParameterError(f"application must be a name, got {application!r}.")
            with raised_as(ParameterError, "application must be a name"):
                name = application.encode()
            self.application = application
            self.version = whole_number("version", version, most=2**64 - 1)
            if not isinstance(secret, bytes):
                raise ParameterError(
                    f"secret must be bytes, got a {type(secret).__name__} (not shown): pass "
                    "secrets.token_bytes(32)."
                )
            if not _LEAST_BYTES <= len(secret) <= _MOST_BYTES:
                raise ParameterError(
                    f"secret must have {_LEAST_BYTES} to {_MOST_BYTES} bytes, got {len(secret)} "
                    "(not shown): pass secrets.token_bytes(32)."
                )
            context = self.version.to_bytes(8, "little") + name
            self._derived = hashlib.blake2b(context, key=secret, person=_DERIVATION).digest()
        finally:
            del secret  # a traceback may show the variables of this frame

    def _stream(self, purpose: str, n_bytes: int) -> np.ndarray:
        """Return the first bytes of the stream of one purpose, uint8 of shape (n_bytes,)."""
        person = hashlib.blake2b(purpose.encode(), digest_size=16).digest()
        blocks = (
            hashlib.blake2b(i.to_bytes(8, "little"), key=self._derived, person=person).digest()
            for i in range(-(-n_bytes // 64))
        )
        return np.frombuffer(b"".join(blocks), dtype=np.uint8)[:n_bytes]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and hmac.compare_digest(self._derived, other._derived)

    def __hash__(self) -> int:
        return hash((Key, self.application, self.version))

    def __repr__(self) -> str:
        return f"Key({shown(self)}, secret hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "a key is not pickled or copied: make it again from the secret where it is needed."
        )


def uniform(purpose: str, n: int) -> np.ndarray:
    """Return n numbers in (0, 1) from a hash of a purpose: independent, and always the same.

    For controls and baselines, which stand for chance. An evenly spread sequence would not do:
    the floor of the linkability would be a quarter of its value.
    """
    stream = hashlib.shake_128(f"primal.privacy/{purpose}".encode()).digest(8 * n)
    return unit_fractions(np.frombuffer(stream, dtype="<u8").astype(np.uint64))


def shown(thing: object) -> str:
    """Return the public attributes of a thing, which may be half made, as text."""
    return ", ".join(f"{n}={v!r}" for n, v in vars(thing).items() if not n.startswith("_"))
