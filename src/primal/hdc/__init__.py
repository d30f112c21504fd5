"""Hyperdimensional computing with phasor codes from primes: small vectors, real decoders.

:class:`Codes` have the operators of the algebra. A :class:`Space` deals out primes to roles and
makes vocabularies; ``encode_*`` and :func:`ngrams` build structures. Memories hold items, pairs and
vectors; :func:`decode`, :func:`decode_slots` and :func:`factorize` read them.
:class:`primal.torch.Embedding` is a layer.
"""

# isort: off
# fmt: off
from primal.hdc._algebra import bind, bundle, normalize, permute, similarity
from primal.hdc._codes import Codes, nearest_code, phasors, to_numpy, to_torch
from primal.hdc._decode import decode
from primal.hdc._factors import factorize
from primal.hdc._fhrr import from_fhrr, to_fhrr
from primal.hdc._items import ItemMemory
from primal.hdc._numbers import Circular, Levels, Reals
from primal.hdc._structures import encode_graph, encode_record, encode_sequence, ngrams
from primal.hdc._superposed import KeyValueMemory, decode_slots
from primal.hdc._vectors import VectorMemory
from primal.hdc._vocabulary import Numbers, Space, Symbols

__all__ = [
    "Circular", "Codes", "ItemMemory", "KeyValueMemory", "Levels", "Numbers", "Reals", "Space",
    "Symbols", "VectorMemory",
    "bind", "bundle", "decode", "decode_slots", "encode_graph", "encode_record",
    "encode_sequence", "factorize", "from_fhrr", "nearest_code", "ngrams", "normalize", "permute",
    "phasors", "similarity", "to_fhrr", "to_numpy", "to_torch",
]
# fmt: on
