"""LangGraph on Holdfast: checkpoints with owners, and long-term memory. Needs LangGraph: `pip install "holdfast[langgraph]"`."""

from ._ownership import ThreadNotOwned
from .aio._claim import AsyncThreadClaim
from .aio._saver import AsyncHoldfastSaver
from .aio._store import AsyncHoldfastStore
from .sync._claim import ThreadClaim
from .sync._saver import HoldfastSaver
from .sync._store import HoldfastStore

__all__ = [
    "AsyncHoldfastSaver",
    "AsyncHoldfastStore",
    "AsyncThreadClaim",
    "HoldfastSaver",
    "HoldfastStore",
    "ThreadClaim",
    "ThreadNotOwned",
]
