"""LangGraph on Holdfast: checkpoints with owners, and long-term memory. Needs LangGraph: `pip install "holdfast[langgraph]"`."""

from ._ownership import ThreadNotOwned
from .aio._claim import AsyncThreadClaim
from .aio._saver import AsyncHoldfastSaver
from .sync._claim import ThreadClaim
from .sync._saver import HoldfastSaver

__all__ = ["AsyncHoldfastSaver", "AsyncThreadClaim", "HoldfastSaver", "ThreadClaim", "ThreadNotOwned"]
