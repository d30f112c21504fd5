"""What Primal is worth, measured: the paper, benchmarks, data sets and trained networks.

Outside the library's wheel. Its commands appear in ``primal`` when this package is installed.
"""
