"""Hold every public object to numpydoc: summary, parameters, returns, an example.

    python tools/check_docstrings.py

Prints what is missing and exits with 1 if anything is. Public is what a room's ``__all__`` names;
methods of public classes need a summary and their parameters, and are shown by the example of
their class.
"""

import enum
import importlib
import inspect
import pkgutil
import sys
from types import ModuleType

from numpydoc.validate import validate

import primal

# Every room but the commands, which have their own help; the door first.
ROOMS = (
    "primal",
    *(f"primal.{r.name}" for r in pkgutil.iter_modules(primal.__path__) if r.name[0] != "_"),
)
# Of an object: no docstring, no summary, parameters missing or unknown, no returns, no example.
OBJECT = {"GL08", "SS01", "PR01", "PR02", "RT01", "EX01"}
METHOD = {"GL08", "SS01", "PR02"}


def public_objects() -> dict[str, object]:
    """Return classes and functions by the shortest name that they are imported by."""
    found: dict[str, object] = {}
    rooms = [importlib.import_module(name) for name in ROOMS if name != "primal.cli"]
    seen: set[int] = set()
    for room in rooms:
        for name in room.__all__:
            value = getattr(room, name)
            if isinstance(value, ModuleType):
                if value not in rooms:
                    rooms.append(value)
            elif callable(value) and id(value) not in seen:
                seen.add(id(value))
                found[f"{room.__name__}.{name}"] = value
    return found


def needs_no_example(value: object) -> bool:
    """Errors and warnings are raised, results are returned: their docstring says by whom."""
    return isinstance(value, type) and (
        issubclass(value, (Exception, enum.Enum)) or hasattr(value, "__dataclass_fields__")
    )


def missing(path: str, value: object) -> list[str]:
    """Return what the docstring of an object and of its methods lacks."""
    wanted = OBJECT - ({"EX01"} if needs_no_example(value) else set())
    if hasattr(value, "__dataclass_fields__") or isinstance(value, enum.EnumType):
        wanted = wanted - {"PR01"}  # fields are under Attributes
    if isinstance(value, enum.EnumType):
        wanted = wanted - {"PR01"}  # nobody calls the constructor
    lines = [f"{path}: {text}" for code, text in validate(path)["errors"] if code in wanted]
    if isinstance(value, type):
        for name, member in vars(value).items():
            if not name.startswith("_") and inspect.isfunction(member):
                errors = validate(f"{path}.{name}")["errors"]
                lines += [f"{path}.{name}: {text}" for code, text in errors if code in METHOD]
    return lines


def main() -> int:
    """Print what is missing."""
    objects = public_objects()
    lines = [line for path, value in objects.items() for line in missing(path, value)]
    print("\n".join(lines))
    print(f"{len(objects)} public objects, {len(lines)} faults.")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
