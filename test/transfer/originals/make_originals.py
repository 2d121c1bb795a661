"""Makes a store of each original that can be installed, by running that original's own code.

    python -m venv A && A/bin/pip install "mcp<2" agentcheckpoint==1.0.0 claude-sage==3.0.0
    A/bin/python make_originals.py FOLDER agentcheckpoint sage
    python -m venv B && B/bin/pip install mcp-state-sidecar==0.1.0
    B/bin/python make_originals.py FOLDER sidecar

Databases are written as SQL text, so that a reviewer can read them. Goldfish is not published as a package:
its files are built in the tests from the fields its source writes.
"""

import asyncio
import json
import os
import sqlite3
import sys
from pathlib import Path

target = Path(sys.argv[1]).resolve()
scratch = target / "scratch"
scratch.mkdir(parents=True, exist_ok=True)


def dump(database: Path, text: Path) -> None:
    connection = sqlite3.connect(database)
    text.write_text("\n".join(connection.iterdump()) + "\n")
    connection.close()


async def agentcheckpoint() -> None:
    database = scratch / "checkpoints.db"
    os.environ["CHECKPOINT_DB_PATH"] = str(database)
    from agentcheckpoint.server import handle_call_tool as call

    await call("set_state", {"key": "workflow:plan", "value": json.dumps({"step": 1, "done": False})})
    await call("set_state", {"key": "workflow:plan", "value": json.dumps({"step": 2, "done": False}), "expected_version": 1})
    await call("force_set_state", {"key": "100%_sure/../?*[x]", "value": json.dumps("path and pattern characters")})
    await call("force_set_state", {"key": "größe", "value": json.dumps({"größe": 1.5, "liste": [None, True, "x"]}, ensure_ascii=False)})
    await call("force_set_state", {"key": "gone", "value": "1"})
    await call("delete_state", {"key": "gone"})
    dump(database, target / "agentcheckpoint.sql")


async def sidecar() -> None:
    from mcp_state_sidecar.backends.sqlite_backend import SQLiteBackend

    database = scratch / "sidecar.db"
    backend = SQLiteBackend(str(database))
    await backend.initialise()
    await backend.kv_set("config/limit", {"rps": 20}, agent_id="planner")
    await backend.kv_set("config/limit", {"rps": 25}, agent_id="planner")
    await backend.kv_set("short", "lived", ttl=1)
    await backend.kv_set("long", "lived", ttl=315000000)
    await backend.lease_acquire("deploy", "agent-a", 600)
    await backend.session_save("s-1", {"task": "migrate", "notes": ["a", "b"]})
    fresh = await backend.workflow_create("index the docs", {"team": "search"})
    taken = await backend.workflow_create("nightly report", {"team": "data", "kind": "report"})
    await backend.workflow_claim(taken.run_id, "agent-b")
    going = await backend.workflow_create("migrate users", {})
    await backend.workflow_claim(going.run_id, "agent-c")
    for step in (1, 2, 3):
        await backend.checkpoint(going.run_id, step, {"moved": step * 100})
    ended = await backend.workflow_create("old job", {})
    await backend.checkpoint(ended.run_id, 1, "all")
    await backend.workflow_update(ended.run_id, status="done")
    await backend.close()
    dump(database, target / "sidecar.sql")


def sage() -> None:
    home = target / "sage"
    os.environ["HOME"] = str(scratch / "home")
    import sage.config as config

    config.SAGE_DIR = home / "dot-sage"
    import sage.checkpoint as checkpoint
    import sage.knowledge as knowledge

    checkpoint.CHECKPOINTS_DIR = config.SAGE_DIR / "checkpoints"
    knowledge.KNOWLEDGE_DIR = config.SAGE_DIR / "knowledge"
    knowledge.KNOWLEDGE_INDEX = knowledge.KNOWLEDGE_DIR / "index.yaml"
    # Embeddings are an extra of Sage that needs Python 3.12 and a model; they are no part of what is imported.
    checkpoint._add_checkpoint_embedding = lambda *_: False
    knowledge._add_embedding = lambda *_: False
    first = checkpoint.create_checkpoint_from_dict(
        {
            "core_question": "Which queue should the importer use?",
            "thesis": "A table with a claim column is enough: 200 jobs a minute leave it idle.",
            "confidence": 0.8,
            "open_questions": ["What happens at ten times the load?"],
            "sources": [
                {"id": "load test", "type": "observation", "take": "p95 of 4 ms at 200 jobs a minute", "relation": "supports"},
                {"id": "blog post", "type": "article", "take": "tables do not scale (2015)", "relation": "disagrees"},
            ],
            "tensions": [{"between": ["load test", "blog post"], "nature": "scale of ten years ago", "resolution": "unresolved"}],
            "unique_contributions": [{"type": "internal_knowledge", "content": "The nightly batch is the peak"}],
            "key_evidence": ["4 ms at the 95th percentile"],
            "reasoning_trace": "Measured first.\nThen read.",
            "action": {"goal": "choose the queue", "type": "decision"},
        },
        trigger="synthesis",
    )
    checkpoint.save_checkpoint(first)
    knowledge.add_knowledge(
        content="# Limits\n\nThe carrier refuses parcels above 31.5 kg.\n\n---\n\nAsk for freight instead.",
        knowledge_id="carrier-limits",
        keywords=["carrier", "weight"],
        source="contract of 2025",
    )
    knowledge.add_knowledge(content="Labels are A6.", knowledge_id="labels", keywords=["label"], skill="shipping", patterns=["label.*size"])
    knowledge.add_knowledge(content="Old rule.", knowledge_id="old-rule", keywords=["rule"])
    knowledge.deprecate_knowledge("old-rule", "replaced by the new rule")


for wanted in sys.argv[2:]:
    made = globals()[wanted]()
    if made is not None:
        asyncio.run(made)
