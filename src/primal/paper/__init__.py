"""What the paper shows: its data, its experiments, its claims, and what they measure to.

``primal reproduce`` on the command line is :func:`reproduce`.
"""

from primal.paper._claim import Claim as Claim
from primal.paper._claim import Judgement as Judgement
from primal.paper._claim import Verdict as Verdict
from primal.paper._experiment import Experiment as Experiment
from primal.paper._experiment import Fact as Fact
from primal.paper._experiment import Outcome as Outcome
from primal.paper._ledger import Judged as Judged
from primal.paper._ledger import Ledger as Ledger
from primal.paper._ledger import NotRun as NotRun
from primal.paper._ledger import claims as claims
from primal.paper._ledger import judge as judge
from primal.paper._runner import Reproduction as Reproduction
from primal.paper._runner import reproduce as reproduce
from primal.paper._runner import run as run
from primal.paper._shapes import circles as circles
from primal.paper._shapes import spiral as spiral
