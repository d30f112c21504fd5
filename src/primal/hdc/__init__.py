"""Hyperdimensional computing with phasor codes from primes: small vectors, real decoders.

*Algebra*: :class:`Codes` with operators, :func:`bind`, :func:`bundle` and their kin.
*Vocabularies*: :class:`Space` deals out primes to roles and makes :class:`Symbols`,
:class:`Integers`, :class:`Reals`, :class:`Levels`, :class:`Thermometer` and :class:`Circular`;
``encode_*`` and :func:`ngrams` build structures, :class:`Embedding` is a layer of PyTorch.
*Memories*: :class:`ItemMemory`, :class:`KeyValueMemory`, :class:`SequenceMemory`. *Decoders*:
:func:`decode`, :func:`decode_slots`, :func:`factorise`; :func:`capacity` says beforehand what
they can do.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from primal.hdc._algebra import bind as bind
from primal.hdc._algebra import bundle as bundle
from primal.hdc._algebra import identity as identity
from primal.hdc._algebra import inverse as inverse
from primal.hdc._algebra import negative as negative
from primal.hdc._algebra import normalised as normalised
from primal.hdc._algebra import permute as permute
from primal.hdc._algebra import power as power
from primal.hdc._algebra import similarity as similarity
from primal.hdc._algebra import similarity_matrix as similarity_matrix
from primal.hdc._algebra import unbind as unbind
from primal.hdc._capacity import capacity as capacity
from primal.hdc._capacity import matched_accuracy as matched_accuracy
from primal.hdc._capacity import recall_accuracy as recall_accuracy
from primal.hdc._capacity import search_space as search_space
from primal.hdc._certificate import LawCertificate as LawCertificate
from primal.hdc._certificate import SimilarityCertificate as SimilarityCertificate
from primal.hdc._certificate import certify as certify
from primal.hdc._circular import Circular as Circular
from primal.hdc._codes import Codes as Codes
from primal.hdc._codes import phasors as phasors
from primal.hdc._convert import nearest_code as nearest_code
from primal.hdc._convert import to_numpy as to_numpy
from primal.hdc._convert import to_torch as to_torch
from primal.hdc._decode import Decoded as Decoded
from primal.hdc._decode import decode as decode
from primal.hdc._exchange import from_fhrr as from_fhrr
from primal.hdc._exchange import from_ssp as from_ssp
from primal.hdc._exchange import phase_matrix as phase_matrix
from primal.hdc._exchange import to_fhrr as to_fhrr
from primal.hdc._exchange import to_ssp as to_ssp
from primal.hdc._items import Cleaned as Cleaned
from primal.hdc._items import ItemMemory as ItemMemory
from primal.hdc._items import retrieve as retrieve
from primal.hdc._keyvalue import Crosstalk as Crosstalk
from primal.hdc._keyvalue import KeyValueMemory as KeyValueMemory
from primal.hdc._levels import Levels as Levels
from primal.hdc._levels import Thermometer as Thermometer
from primal.hdc._reals import Reals as Reals
from primal.hdc._resonator import Factors as Factors
from primal.hdc._resonator import factorise as factorise
from primal.hdc._sequence import Recalled as Recalled
from primal.hdc._sequence import SequenceMemory as SequenceMemory
from primal.hdc._sequence import decode_slots as decode_slots
from primal.hdc._space import SCALE as SCALE
from primal.hdc._space import Space as Space
from primal.hdc._space import window_energy as window_energy
from primal.hdc._specs import from_spec as from_spec
from primal.hdc._structures import encode_graph as encode_graph
from primal.hdc._structures import encode_record as encode_record
from primal.hdc._structures import encode_sequence as encode_sequence
from primal.hdc._structures import encode_set as encode_set
from primal.hdc._structures import encode_tree as encode_tree
from primal.hdc._structures import ngrams as ngrams
from primal.hdc._structures import path_code as path_code
from primal.hdc._vocabulary import Integers as Integers
from primal.hdc._vocabulary import Symbols as Symbols
from primal.hdc._vocabulary import Vocabulary as Vocabulary

if _TYPE_CHECKING:
    from primal.hdc._embedding import Embedding as Embedding


def __getattr__(name: str) -> _Any:
    if name == "Embedding":  # the one that needs PyTorch
        import primal.torch  # noqa: F401  says what is missing
        from primal.hdc._embedding import Embedding

        return Embedding
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
