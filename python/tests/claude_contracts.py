"""Runs the Claude Agent SDK's contracts for session stores against `holdfast.claude`. Arguments: the server's URL, and optionally a defect to plant.
test/stories/claude-sdk.campaign.ts runs it with an interpreter that has the SDK."""

from __future__ import annotations

import asyncio
import importlib
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import holdfast.aio
from holdfast.claude import HoldfastSessionStore

# Not imported by name: the client's types are checked without the SDK.
sdk_testing = importlib.import_module("claude_agent_sdk.testing")


class Forgetful(HoldfastSessionStore):
    """A planted defect: subagents' batches go to the main transcript."""

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        await super().append({"project_key": key["project_key"], "session_id": key["session_id"]}, entries)


async def main(url: str, defect: str) -> None:
    opened: list[holdfast.aio.AsyncHoldfast] = []
    made = 0

    async def make_store() -> HoldfastSessionStore:
        nonlocal made
        made += 1
        client = await holdfast.aio.connect(url, namespace=f"sdk-{secrets.token_hex(6)}")
        opened.append(client)
        return (Forgetful if defect else HoldfastSessionStore)(client)

    try:
        await sdk_testing.run_session_store_conformance(make_store)
    finally:
        for client in opened:
            await client.close()
    # One store is made to see which optional methods there are, and one for each contract.
    print(f"{made - 1} contracts")


asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
