"""LangGraph's public conformance suite against Holdfast's savers.

    python conformance.py URL [--planted NAME]

Prints a JSON object: for each saver and capability how many tests passed and failed, and the failures. A planted defect must make it fail."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator
from typing import Any

import holdfast.aio
from holdfast.langgraph import AsyncHoldfastSaver, HoldfastSaver, _keys, _records
from langgraph.checkpoint.conformance import checkpointer_test, validate

PLANTED: dict[str, tuple[object, str, Any]] = {
    # The oldest checkpoint is taken for the newest.
    "order": (_keys, "_newest_first", lambda checkpoint_id: checkpoint_id.encode().hex() + "~"),
    # The ordinary writes of a task are lost.
    "writes": (_records.TaskWrites, "by_slot", lambda writes: iter(())),
}


@checkpointer_test(name="HoldfastSaver")
async def in_threads() -> AsyncIterator[HoldfastSaver]:
    with holdfast.connect(URL, namespace=f"conformance-{secrets.token_hex(4)}", agent="conformance") as client:
        yield HoldfastSaver(client)


@checkpointer_test(name="AsyncHoldfastSaver")
async def in_loop() -> AsyncIterator[AsyncHoldfastSaver]:
    async with await holdfast.aio.connect(URL, namespace=f"conformance-{secrets.token_hex(4)}", agent="conformance") as client:
        yield AsyncHoldfastSaver(client)


async def main() -> dict[str, Any]:
    reports = [await validate(in_threads), await validate(in_loop)]
    return {
        report.checkpointer_name: {
            "level": report.conformance_level(),
            "capabilities": {
                name: {"passed": result.tests_passed, "failed": result.tests_failed, "failures": result.failures} for name, result in report.results.items()
            },
        }
        for report in reports
    }


if __name__ == "__main__":
    URL = sys.argv[1]
    if "--planted" in sys.argv:
        setattr(*PLANTED[sys.argv[sys.argv.index("--planted") + 1]])
    print(json.dumps(asyncio.run(main())))
