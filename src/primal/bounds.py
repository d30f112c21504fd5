"""``primal.bounds`` is ``primal.codebooks.bounds``: one module under two names, as ``os.path``."""

import sys

from primal.codebooks import bounds

sys.modules[__name__] = bounds
