"""One worker's part of a run that a worker in another language begins or ends. Prints the outcome and the steps that were really run."""

from __future__ import annotations

import json
import sys

import holdfast


def main(url: str, namespace: str, run_id: str) -> None:
    ran: list[str] = []

    def note(name: str, output: holdfast.Json) -> holdfast.Json:
        ran.append(name)
        return output

    def handler(run: holdfast.Run) -> holdfast.Json:
        order = run.step("load", lambda _: note("load", {"total": 3}))
        paid = run.step("pay", lambda _: note("pay", "receipt"), effect=True, args={"total": 3})
        run.sleep("rest", 0.01)
        go = run.wait_for("go")
        shipped = run.step("ship", lambda _: note("ship", True))
        return [order, paid, go, shipped, run.input]

    with holdfast.connect(url, namespace=namespace, agent="python") as client:
        outcome = client.run_workflow("order", handler, run_id=run_id, input={"from": "either"}, hold=0.05)
        print(json.dumps({"status": outcome.status, "result": getattr(outcome, "result", None), "ran": ran}))


if __name__ == "__main__":
    main(*sys.argv[1:])
