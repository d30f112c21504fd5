"""What the paper shows: its data and, one by one, its experiments."""

from primal.paper._shapes import circles as circles
from primal.paper._shapes import spiral as spiral
