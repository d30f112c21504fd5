"""Layers over several processes: one name, imported apart because it needs torch.distributed."""

from primal.torch._parallel import PrimeParallel as PrimeParallel
