"""Run the examples of the README with whatever is installed: ``python tools/check_readme.py``.

`make release-check` does it in an environment that has the wheel and nothing of the checkout.
"""

import doctest
import re
import sys
from pathlib import Path

import primal

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Print failures; return 1 if there are any or if the checkout is what was imported."""
    if Path(primal.__file__).is_relative_to(ROOT / "src"):
        print("primal was imported from the checkout, not from an installed wheel.")
        return 1
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"(?ms)^```pycon\n(.*?)^```$", text))
    test = doctest.DocTestParser().get_doctest(examples, {}, "README.md", None, 0)
    found = doctest.DocTestRunner().run(test)
    print(f"{found.attempted} examples of the README, {found.failed} failed.")
    return int(found.failed > 0 or found.attempted < 10)


if __name__ == "__main__":
    sys.exit(main())
