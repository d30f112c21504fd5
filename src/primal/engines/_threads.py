"""The threads of :mod:`primal._parallel`, under the name that other rooms know them by."""

from primal._parallel import n_threads as n_threads
from primal._parallel import over_rows as over_rows
from primal._parallel import single_threaded_blas as single_threaded_blas
