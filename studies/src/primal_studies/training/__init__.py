"""Networks trained with Primal's layers and their peers, one module for each study.

``primal study NAME`` runs one; a run that was interrupted resumes where it stopped.
"""

STUDIES = ("positions", "rotary_precision", "inr", "signals", "pinn", "state", "sparse", "collect")
