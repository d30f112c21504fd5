"""Hyperdimensional classifiers compared: data sets, contenders, classes that arrive in sequence."""

from primal_studies.hdc._continual import TaskRow as TaskRow
from primal_studies.hdc._continual import class_incremental as class_incremental
from primal_studies.hdc._continual import first_task_standardized as first_task_standardized
from primal_studies.hdc._datasets import DATASETS as DATASETS
from primal_studies.hdc._datasets import data_folders as data_folders
from primal_studies.hdc._datasets import load as load
from primal_studies.hdc._datasets_split import Dataset as Dataset
from primal_studies.hdc._datasets_split import Split as Split
from primal_studies.hdc._datasets_split import standardized as standardized
from primal_studies.hdc._ngrams import ngram_vectors as ngram_vectors
