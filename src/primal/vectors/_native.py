"""The native core, where it is installed."""


def core() -> None:
    """Return the functions of the native core, or None."""
    return None
