"""What a write to a thread of another worker fails with."""

from __future__ import annotations

from ..errors import HoldfastError


class ThreadNotOwned(HoldfastError):
    """Nothing was stored: the thread is claimed by another worker. `code` is `lease_lost` where this worker had claimed it before, `claim_held` where it had not."""

    def __init__(self, thread: str, *, was_ours: bool) -> None:
        super().__init__(
            "lease_lost" if was_ours else "claim_held",
            f"The claim on thread {thread!r} lapsed or was taken over by another worker; nothing was stored."
            if was_ours
            else f"Thread {thread!r} is claimed by a worker, and this one is not it; nothing was stored.",
            hint="Stop this run: the worker that claims the thread next continues it from the last checkpoint."
            if was_ours
            else "Claim it first: `with saver.claim(thread_id):` waits for a live worker and takes over from a dead one.",
            details={"thread_id": thread},
        )
        self.thread_id = thread
