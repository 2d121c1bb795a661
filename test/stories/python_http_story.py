"""A server spoken to over HTTP with the official Python client: one JSON object of facts on standard output.

Arguments: the server's URL, a token, and the client's mode.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, token, mode = sys.argv[1:4]
heard = asyncio.Event()


async def on_message(message) -> None:
    """Notifications of the handshake era; how they are wrapped is the client's own affair."""
    if "resources/updated" in repr(message) or "ResourceUpdated" in type(message).__name__:
        heard.set()


def agent() -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=60, message_handler=on_message)


async def call(client: Client, tool: str, **arguments):
    """The structured answer, errors included: the story expects some."""
    result = await client.call_tool(tool, arguments)
    return result.structured_content


async def hear(client: Client, key: str) -> str:
    """Subscribes, lets somebody else change the thing, and waits until it is told."""
    uri = f"holdfast://state/{key}"
    async with agent() as writer:
        if mode == "legacy":
            await client.subscribe_resource(uri)
            await call(writer, "state_set", key=key, value=1)
            await heard.wait()
            return uri
        async with client.listen(resource_subscriptions=[uri]) as subscription:
            await call(writer, "state_set", key=key, value=1)
            async for event in subscription:
                return str(event.uri)
    return ""


async def cancel(client: Client, key: str) -> str:
    """A call that waits for something that never comes, given up."""
    waiting = asyncio.ensure_future(call(client, "state_get", key=key, wait_for_version_above=0, wait_seconds=50))
    # The loop has sent it before it sends another and hears of that.
    await call(client, "state_get", key=f"elsewhere-{key}")
    waiting.cancel()
    try:
        await waiting
    except asyncio.CancelledError:
        return "cancelled"
    return "answered"


async def main() -> None:
    facts = {}
    async with agent() as client:
        facts["protocol_version"] = client.session.protocol_version
        facts["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        request = {"name": "state_set", "arguments": {"key": f"python-{mode}", "value": 1}, "meta": {"holdfast/request-key": f"http-{mode}"}}
        facts["twice"] = [(await client.call_tool(**request)).structured_content for _ in range(2)]
        facts["read"] = await call(client, "state_get", key=f"python-{mode}")
        facts["wrong"] = await call(client, "workflow_status", run_id="no-such-run")
        facts["heard"] = await hear(client, f"watched-{mode}")
        facts["gave_up"] = await cancel(client, f"never-{mode}")
        facts["after"] = await call(client, "state_get", key=f"python-{mode}")
    print(json.dumps(facts))


asyncio.run(main())
