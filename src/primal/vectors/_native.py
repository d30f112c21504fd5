"""The native core, where it is installed."""


def library() -> None:
    """Return the functions of the native core, or None."""
    return None
