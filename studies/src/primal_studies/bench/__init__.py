"""Speed against what people use today; ``primal bench`` prints it."""

from primal_studies.bench._bars import Bar as Bar
from primal_studies.bench._bars import judge as judge
from primal_studies.bench._cases import GROUPS as GROUPS
from primal_studies.bench._cases import cases as cases
from primal_studies.bench._growth import exponents as exponents
from primal_studies.bench._growth import first_call_seconds as first_call_seconds
from primal_studies.bench._growth import peak_extra_bytes as peak_extra_bytes
from primal_studies.bench._measure import OURS as OURS
from primal_studies.bench._measure import Case as Case
from primal_studies.bench._measure import Result as Result
from primal_studies.bench._measure import contest as contest
from primal_studies.bench._plot import plot as plot
