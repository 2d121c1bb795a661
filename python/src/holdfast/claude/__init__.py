"""A session store for the Claude Agent SDK. The SDK itself (`holdfast[claude]`) is needed only by programs that run queries."""

from ._store import HoldfastSessionStore, LostSession, SessionReader

__all__ = ["HoldfastSessionStore", "LostSession", "SessionReader"]
