"""Nearest neighbors over compact codes: 8-bit and 16-bit phases, sign bits, waves."""

from primal.search._accuracy import expected_similarity as expected_similarity
from primal.search._accuracy import hamming_from_kernel as hamming_from_kernel
from primal.search._accuracy import kernel_from_hamming as kernel_from_hamming
from primal.search._accuracy import similarity_variance as similarity_variance
from primal.search._codes import phases_to_uint8 as phases_to_uint8
from primal.search._codes import phases_to_uint16 as phases_to_uint16
from primal.search._codes import phases_to_waves as phases_to_waves
from primal.search._codes import waves_to_bits as waves_to_bits
from primal.search._index import Index as Index
from primal.search._index import Neighbors as Neighbors
from primal.search._similarity import similarity as similarity
