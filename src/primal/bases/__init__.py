"""Frequencies from primes: one `Basis` type and the rules that fill it."""

from primal.bases._basis import BASES as BASES
from primal.bases._basis import BASIS_VERSION as BASIS_VERSION
from primal.bases._basis import Basis as Basis
from primal.bases._basis import equal_bandwidth as equal_bandwidth
from primal.bases._table import FrequencyTable as FrequencyTable
