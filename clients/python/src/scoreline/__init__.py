"""Client of Scoreline: from a fitted scorecard to a checked endpoint, and scores as frames."""

from .cards import repaired
from .client import Client
from .deployed import Deployed
from .errors import (
    CardError,
    ConnectionFailed,
    ParityError,
    ScorelineError,
    ServiceError,
    ValueRefused,
)
from .frames import Frames
from .importing import ParityReport
from .transport import Retries
from .version import VERSION

__version__ = VERSION

__all__ = [
    "CardError",
    "Client",
    "ConnectionFailed",
    "Deployed",
    "Frames",
    "ParityError",
    "ParityReport",
    "Retries",
    "ScorelineError",
    "ServiceError",
    "ValueRefused",
    "__version__",
    "repaired",
]
