"""Fills a transcript's answers by sending its requests to the original, which is run from its package over stdio.

    python -m venv A && A/bin/pip install "mcp<2" agentcheckpoint==1.0.0
    python record_transcript.py transcripts/agentcheckpoint.json A/bin/agentcheckpoint
    python -m venv B && B/bin/pip install mcp-state-sidecar==0.1.0
    python record_transcript.py transcripts/sidecar.json B/bin/mcp-state-sidecar
    python3.12 -m venv C && C/bin/pip install "claude-sage[mcp]==4.2.3" "mcp<2" "fastmcp<3"
    python record_transcript.py transcripts/sage.json C/bin/sage-mcp

Every run begins with an empty home folder. "$NAME" in the arguments stands for a field of an earlier answer ("keep").
"setUp" names programs of the package to run first. A "race" is sent to two servers at once, again and again, until the original shows what it may do. `npx biome format --write transcripts` gives the file its final form.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

transcript_path, *command = sys.argv[1:]
command[0] = os.path.abspath(command[0])
home = tempfile.mkdtemp()
environment = {
    "PATH": os.environ["PATH"],
    "HOME": home,
    "CHECKPOINT_DB_PATH": f"{home}/checkpoints.db",
    "DB_PATH": f"{home}/sidecar.db",
    "HF_HUB_OFFLINE": "1",
}


class Server:
    def __init__(self) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=home, text=True)
        self.next_id = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "recorder", "version": "1"}}
        self.read(self.send("initialize", hello))
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def send(self, method: str, params: dict) -> int:
        self.next_id += 1
        self.write({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def read(self, wanted: int) -> dict:
        for line in self.process.stdout:
            try:
                message = json.loads(line)
            except json.JSONDecodeError:
                continue  # One of the originals prints to its protocol stream.
            if message.get("id") == wanted and "method" not in message:
                return message
        raise SystemExit("the original ended")


def answer_of(message: dict) -> dict:
    if "error" in message:
        return {"protocolError": message["error"]["code"]}
    result = message["result"]
    if result.get("isError"):
        return {"isError": True}
    text = "\n".join(part["text"] for part in result["content"])
    if "structuredContent" in result and set(result["structuredContent"]) != {"result"}:
        return {"answer": result["structuredContent"]}
    try:
        return {"answer": json.loads(text)}
    except json.JSONDecodeError:
        return {"text": text}


def listed(method: str, result: dict) -> dict:
    if method == "resources/list":
        return {"uris": sorted(resource["uri"] for resource in result["resources"])}
    return {
        tool["name"]: {
            name: "required" if name in tool["inputSchema"].get("required", []) else "optional" for name in tool["inputSchema"]["properties"]
        }
        for tool in result["tools"]
    }


def filled(value, kept: dict):
    if isinstance(value, str) and value.startswith("$"):
        return kept[value[1:]]
    return {name: filled(member, kept) for name, member in value.items()} if isinstance(value, dict) else value


def call(server: Server, exchange: dict, kept: dict) -> int:
    return server.send("tools/call", {"name": exchange["tool"], "arguments": filled(exchange["arguments"], kept)})


with open(transcript_path) as file:
    transcript = json.load(file)
for program, *words in transcript.get("setUp", []):
    subprocess.run([os.path.join(os.path.dirname(command[0]), program), *words], check=True, env=environment, cwd=home)
first = Server()
second = None
kept: dict = {}
for exchange in transcript["exchanges"]:
    for field in ("answer", "text", "isError", "protocolError"):
        exchange.pop(field, None)
    if "method" in exchange:
        message = first.read(first.send(exchange["method"], {}))
        exchange["answer"] = listed(exchange["method"], message["result"])
    elif "waitSeconds" in exchange:
        time.sleep(exchange["waitSeconds"])
    elif "race" in exchange:
        second = second or Server()
        setup, ours, theirs = exchange["race"]
        for _ in range(3000):
            first.read(call(first, setup, kept))
            waiting = [call(first, ours, kept), call(second, theirs, kept)]
            for server, part, wanted in zip((first, second), (ours, theirs), waiting):
                for field in ("answer", "text", "isError"):
                    part.pop(field, None)
                part.update(answer_of(server.read(wanted)))
            first.read(first.send("tools/call", exchange["cleanUp"]))
            if ours["answer"]["status"] == theirs["answer"]["status"]:
                break
        else:
            raise SystemExit("no race was lost in 3,000 attempts")
    else:
        exchange.update(answer_of(first.read(call(first, exchange, kept))))
        for name, field in exchange.get("keep", {}).items():
            kept[name] = exchange["answer"][field]
for server in (first, second):
    if server is not None:
        server.process.stdin.close()
        server.process.wait()
with open(transcript_path, "w") as file:
    json.dump(transcript, file, indent=2, ensure_ascii=False)
    file.write("\n")
