"""What the paper says that prime codes and features are good for, against what that field uses.

``primal study NAME`` runs one; a run that was interrupted resumes where it stopped.
"""

STUDIES = ("multiuser", "chaos", "optics", "fingerprints", "kspace", "split_learning", "vectors")
