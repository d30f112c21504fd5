"""The Triton kernels behind the operators; imported where Triton is there."""

from primal.torch._kernel_exact import write_exact as write_exact
from primal.torch._kernel_fast import write_fast as write_fast
from primal.torch._kernel_fast import write_input_gradient as write_input_gradient
from primal.torch._kernel_hadamard import write_hadamard as write_hadamard
from primal.torch._kernel_hadamard import write_hadamard_gradient as write_hadamard_gradient
from primal.torch._kernel_static import write_positions as write_positions
from primal.torch._kernel_static import write_rotary as write_rotary
