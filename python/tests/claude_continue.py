"""A host in Python continues a session that a host in TypeScript began. Arguments: the server's URL, the namespace, the project's key and the session's id."""

from __future__ import annotations

import asyncio
import json
import sys

import holdfast.aio
from holdfast import HoldfastError
from holdfast.claude import HoldfastSessionStore


async def main(url: str, namespace: str, project_key: str, session_id: str) -> None:
    key = {"project_key": project_key, "session_id": session_id}
    async with await holdfast.aio.connect(url, namespace=namespace) as client, HoldfastSessionStore(client, host="python") as store:
        try:
            loaded = await store.load(key)
        except HoldfastError as error:
            print(json.dumps({"code": error.code, "by": error.details["held_by"]}))
            return
        await store.append(key, [{"type": "user", "uuid": "b", "text": "from Python", "lastPrompt": "from Python"}])
        summaries = await store.list_session_summaries(project_key)
        print(json.dumps({"loaded": [each["text"] for each in loaded or []], "summary": summaries[0]["data"]["first_prompt"]}))


asyncio.run(main(*sys.argv[1:]))
