"""Hyperdimensional computing with phasor codes from primes: small vectors, real decoders.

:class:`Codes` have the operators of the algebra. A :class:`Space` deals out primes to roles and
makes vocabularies; ``encode_*`` and :func:`ngrams` build structures. Memories hold items, pairs and
sequences; :func:`decode`, :func:`decode_slots` and :func:`factorize` read them, and
:func:`capacity` says beforehand what they can do. :class:`primal.torch.Embedding` is a layer.
"""

# isort: off
# fmt: off
from primal.hdc._algebra import (
    bind, bundle, identity, inverse, nearest_code, negative, normalize, permute, power, similarity,
    similarity_matrix, unbind,
)
from primal.hdc._forms import from_fhrr, from_ssp, to_fhrr, to_numpy, to_ssp, to_torch
from primal.hdc._capacity import (
    LawCertificate, SimilarityCertificate, capacity, certify, matched_accuracy, recall_accuracy,
)
from primal.hdc._codes import Codes, phasors
from primal.hdc._decode import Decoded, decode
from primal.hdc._factors import Factors, factorize
from primal.hdc._items import Cleaned, ItemMemory
from primal.hdc._numbers import Circular, Levels, Reals, Thermometer
from primal.hdc._structures import (
    encode_graph, encode_record, encode_sequence, encode_tree, ngrams, path_code,
)
from primal.hdc._superposed import Crosstalk, KeyValueMemory, Recalled, SequenceMemory, decode_slots
from primal.hdc._vectors import VectorMemory
from primal.hdc._vocabulary import Integers, Space, Symbols, Vocabulary

__all__ = [
    "Circular", "Cleaned", "Codes", "Crosstalk", "Decoded", "Factors", "Integers",
    "ItemMemory", "KeyValueMemory", "LawCertificate", "Levels", "Reals", "Recalled",
    "SequenceMemory", "SimilarityCertificate", "Space", "Symbols", "Thermometer", "VectorMemory",
    "Vocabulary",
    "bind", "bundle", "capacity", "certify", "decode", "decode_slots", "encode_graph",
    "encode_record", "encode_sequence", "encode_tree", "factorize", "from_fhrr", "from_ssp",
    "identity", "inverse", "matched_accuracy", "nearest_code", "negative", "ngrams", "normalize",
    "path_code", "permute", "phasors", "power", "recall_accuracy", "similarity",
    "similarity_matrix", "to_fhrr", "to_numpy", "to_ssp", "to_torch", "unbind",
]
# fmt: on
