"""torchhd's tests, with our codes in place of random FHRR vectors.

Its packages hold the tests without the module of helpers that they import; the three names they
take from it are made here.
"""

import sys
from functools import cache
from types import ModuleType

import torch
import torchhd
from torchhd import FHRRTensor, functional

from primal import hdc

_LARGEST_NAME = 2**62


@cache
def symbols(dimensions):
    return hdc.Space(2 * dimensions).symbols()


def prime_codes(
    num_vectors, dimensions, *, dtype=None, device=None, requires_grad=False, generator=None
):
    """Return codes of names in place of random vectors; the generator only chooses the names."""
    dtype = torch.complex64 if dtype is None else dtype
    if dtype not in FHRRTensor.supported_dtypes:
        raise ValueError(f"FHRR vectors are complex, not {dtype}.")
    first = int(torch.randint(_LARGEST_NAME, (), generator=generator, device="cpu"))
    names = [f"{first + i}" for i in range(num_vectors)]
    codes = hdc.to_fhrr(symbols(dimensions).encode(names)).to(device=device, dtype=dtype)
    codes.requires_grad = requires_grad
    return codes


helpers = ModuleType("torchhd.tests.utils")
helpers.torch_dtypes = [
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
    torch.uint8,
    torch.int8,
    torch.int64,
    torch.bool,
]
helpers.vsa_tensors = ["FHRR"]
helpers.supported_dtype = lambda dtype, vsa=None: (
    dtype in functional.get_vsa_tensor_class(vsa or "FHRR").supported_dtypes
)
sys.modules[helpers.__name__] = helpers

FHRRTensor.random = staticmethod(prime_codes)
torchhd.FHRRTensor = FHRRTensor
