"""Datasets by name, from installed packages, with checksums; ``primal hdc datasets`` lists them."""

from primal.hdc._datasets import DATASETS as DATASETS
from primal.hdc._datasets import data_folders as data_folders
from primal.hdc._datasets import load as load
from primal.hdc._datasets_split import Dataset as Dataset
from primal.hdc._datasets_split import Split as Split
from primal.hdc._datasets_split import standardised as standardised
