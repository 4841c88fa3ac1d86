"""Client of Scoreline: from a fitted scorecard to a checked endpoint, and scores as frames."""

from .cards import repaired
from .changes import Change
from .client import Client
from .decisions import DecisionPage
from .deployed import Deployed
from .errors import (
    CardError,
    ConnectionFailed,
    ParityError,
    ScorelineError,
    ServiceError,
    ValueRefused,
)
from .folder import init
from .frames import Frames
from .model_card import About, ModelCard
from .parity import ParityReport
from .reasons import Reason
from .registry import Deployment, Model
from .transport import NotKept, Retries
from .version import VERSION
from .watching import MonthlyReport

__version__ = VERSION

__all__ = [
    "About",
    "CardError",
    "Change",
    "Client",
    "ConnectionFailed",
    "DecisionPage",
    "Deployed",
    "Deployment",
    "Frames",
    "Model",
    "ModelCard",
    "MonthlyReport",
    "NotKept",
    "ParityError",
    "ParityReport",
    "Reason",
    "Retries",
    "ScorelineError",
    "ServiceError",
    "ValueRefused",
    "__version__",
    "init",
    "repaired",
]
