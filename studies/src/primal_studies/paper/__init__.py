"""What the paper shows: its data, its experiments, its claims, and what they measure to.

``primal reproduce`` on the command line is :func:`reproduce`.
"""

from primal_studies.paper._claim import Claim as Claim
from primal_studies.paper._claim import Judgement as Judgement
from primal_studies.paper._claim import MapJudged as MapJudged
from primal_studies.paper._claim import Verdict as Verdict
from primal_studies.paper._claim import Weight as Weight
from primal_studies.paper._experiment import Experiment as Experiment
from primal_studies.paper._experiment import Fact as Fact
from primal_studies.paper._experiment import Outcome as Outcome
from primal_studies.paper._kernel import prime_spectral_kernel as prime_spectral_kernel
from primal_studies.paper._ledger import Judged as Judged
from primal_studies.paper._ledger import Ledger as Ledger
from primal_studies.paper._ledger import NotRun as NotRun
from primal_studies.paper._ledger import claims as claims
from primal_studies.paper._ledger import judge as judge
from primal_studies.paper._runner import Reproduction as Reproduction
from primal_studies.paper._runner import reproduce as reproduce
from primal_studies.paper._runner import run as run
from primal_studies.paper._shapes import circles as circles
from primal_studies.paper._shapes import spiral as spiral
