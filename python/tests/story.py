"""Makes the calls of story.json and prints the answers in the server's spelling, by the sync and the async client."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import holdfast
import holdfast.aio
from holdfast import DeleteWrite, HistoryCursor, HoldfastError, LeaseRef, SetWrite
from holdfast._wire import encode, python_name

STORY = json.loads((Path(__file__).parent / "story.json").read_text("utf-8"))


def method_of(client: Any, name: str) -> Any:
    for part in name.split("."):
        client = getattr(client, python_name(part))
    return client


def python_arguments(given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """As a Python program gives them."""
    made: dict[str, Any] = {}
    for wire, value in given.items():
        value = filled(value, known)
        if wire.endswith("Ms"):
            value = value / 1000
        elif wire == "writes":
            value = [set_write(**w) if w["op"] == "set" else DeleteWrite(key=w["key"]) for w in value]
        elif wire == "expected":
            value = {each["key"]: each["version"] for each in value}
        elif wire == "lease":
            value = LeaseRef(**value)
        elif wire == "attempt":
            value = known[given["attempt"]["id"].removeprefix("$").partition(".")[0]]
        elif wire == "before" and isinstance(value, dict):
            value = HistoryCursor(**value)
        made[python_name(wire)] = value
    return made


def set_write(op: str, key: str, value: Any, ttlMs: int | None = None, blobs: list[str] | None = None) -> SetWrite:
    return SetWrite(key=key, value=value, ttl=None if ttlMs is None else ttlMs / 1000, blobs=blobs)


def filled(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        name, *path = value[1:].split(".")
        found = known[name]
        for part in path:
            found = getattr(found, part)
        return found
    if isinstance(value, dict):
        return {name: filled(member, known) for name, member in value.items()}
    return value


def failure(error: HoldfastError) -> dict[str, Any]:
    return {"error": {"code": error.code, "message": error.message, "hint": error.hint, "field": error.details.get("field")}}


async def tell(client: Any) -> list[Any]:
    known: dict[str, Any] = {}
    answers = []
    for told in STORY:
        try:
            answer = method_of(client, told["call"])(**python_arguments(told["args"], known))
            if "take" in told:
                answer = [await following(answer) for _ in range(told["take"])]
            elif inspect.isawaitable(answer):
                answer = await answer
            known[told.get("as", "")] = answer
            answers.append(encode(answer))
        except HoldfastError as error:
            answers.append(failure(error))
    return answers


async def following(watch: Any) -> Any:
    return await watch.__anext__() if hasattr(watch, "__anext__") else next(watch)


async def main(url: str, sync_namespace: str, async_namespace: str) -> None:
    with holdfast.connect(url, namespace=sync_namespace, agent="a1", workspace="engine") as client:
        by_sync = await tell(client)
    async with await holdfast.aio.connect(url, namespace=async_namespace, agent="a1", workspace="engine") as client:
        by_async = await tell(client)
    print(json.dumps({"sync": by_sync, "async": by_async}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
