"""Claim, checkpoint, crash, resume with the official Python client: one JSON object of facts on standard output.

Arguments: the command that starts a server, the file in which it leaves its process id, and the client's mode.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

command, pid_file, mode = sys.argv[1:4]
first, second = f"first-{mode}", f"second-{mode}"
# Longer than all that is done under the claim takes, also where processes start slowly; the last one is left to lapse.
claim_seconds = 120
last_claim_seconds = 3


def agent() -> Client:
    """A client with a server process of its own."""
    return Client(StdioServerParameters(command=command), mode=mode, read_timeout_seconds=60)


async def call(client: Client, tool: str, **arguments):
    """The structured answer, errors included: the story expects some."""
    result = await client.call_tool(tool, arguments)
    return result.structured_content


async def crash(run_id: str) -> dict:
    """The first agent claims, reports two steps, and loses its server in the middle of a third call."""
    facts = {}
    try:
        async with agent() as client:
            facts["claim"] = await call(client, "workflow_claim", run_id=run_id, agent_id=first, ttl_seconds=claim_seconds)
            # An answered call proves that this server has started, so the file names it and not an earlier one.
            pid = int(Path(pid_file).read_text())
            facts["protocol_version"] = client.session.protocol_version
            async with agent() as rival:
                facts["rival"] = await call(rival, "workflow_claim", run_id=run_id, agent_id=second)
            for step in (1, 2):
                await call(client, "workflow_checkpoint", run_id=run_id, step=step, output={"step": step}, agent_id=first)
            await call(client, "lease_renew", resource_id=f"workflow/{run_id}", holder_id=first, ttl_seconds=last_claim_seconds)
            waiting = asyncio.ensure_future(call(client, "state_get", key=f"approval-{mode}", wait_for_version_above=0, wait_seconds=50))
            # The server takes calls in their order: when this one is answered, the other is being waited for.
            await call(client, "state_get", key=f"elsewhere-{mode}")
            os.kill(pid, signal.SIGKILL)
            facts["killed"] = True
            facts["waiting"] = await waiting
    except BaseException as error:  # How a client names a lost server, and whether closing it complains, is its own affair.
        if "killed" not in facts:
            raise
        facts["lost"] = type(error).__name__
    return facts


async def take_over(run_id: str, token: int) -> dict:
    facts = {}
    async with agent() as client:
        while True:
            facts["take_over"] = await call(client, "workflow_claim", run_id=run_id, agent_id=second)
            if facts["take_over"]["claimed"]:
                break
            await asyncio.sleep(0.2)
        facts["resumed"] = await call(client, "workflow_resume", run_id=run_id)
        facts["late"] = await call(client, "workflow_checkpoint", run_id=run_id, step=3, output="too late", agent_id=first, token=token)
        facts["checkpoint"] = await call(client, "workflow_checkpoint", run_id=run_id, step=3, output={"step": 3}, agent_id=second)
        facts["finish"] = await call(client, "workflow_finish", run_id=run_id, status="done", agent_id=second)
        facts["history"] = await call(client, "history_log", key=run_id, kind="workflow", n=50)
    return facts


async def main() -> None:
    async with agent() as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        created = await call(client, "workflow_create", name="release", input={"steps": 3})
        request = {"name": "state_set", "arguments": {"key": f"counter-{mode}", "value": 1}, "meta": {"holdfast/request-key": f"python-{mode}"}}
        twice = [(await client.call_tool(**request)).structured_content for _ in range(2)]
    run_id = created["run_id"]
    facts = {"tools": tools, "twice": twice, **await crash(run_id)}
    facts |= await take_over(run_id, facts["claim"]["token"])
    print(json.dumps(facts))


asyncio.run(main())
