"""A pool of workers that ship orders, each paid once, although one of the workers is replaced in the middle.

    holdfast serve &
    python worker_pool.py http://127.0.0.1:8000
"""

from __future__ import annotations

import sys
import threading

import holdfast

payments: list[str] = []
is_first = threading.Event()


def pay(attempt: holdfast.StepAttempt) -> str:
    # Give attempt.effect_id to the bank as its idempotency key.
    payments.append(attempt.effect_id or "")
    return f"receipt {len(payments)}"


def ship_order(run: holdfast.Run) -> holdfast.Json:
    receipt = run.step("pay", pay, effect=True, args=run.input)
    if not is_first.is_set():
        is_first.set()
        # This worker is too slow, say, and the run goes back to the others. The next step of this one is refused.
        with holdfast.connect(url, namespace=namespace, agent="dispatcher") as dispatcher:
            dispatcher.workflows.give_back(run.run_id, token=run.claim.token, agent=dispatcher.workflows.get(run.run_id).agent_id)
    return run.step("ship", lambda _: f"{run.input}: shipped for {receipt}")


def work(name: str) -> None:
    with holdfast.connect(url, namespace=namespace, agent=name) as client:
        client.work("ship-order", ship_order, concurrency=2, stops_when_idle=True, on_outcome=lambda outcome: print(f"{name}: {outcome.status}"))


if __name__ == "__main__":
    url = sys.argv[1]
    namespace = sys.argv[2] if len(sys.argv) > 2 else "worker-pool"
    with holdfast.connect(url, namespace=namespace, agent="shop") as shop:
        for number in range(1, 7):
            shop.start_workflow("ship-order", run_id=f"order-{number}", input=f"order {number}")
        workers = [threading.Thread(target=work, args=(name,)) for name in ("ann", "ben")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        shipped = shop.workflows.find(status="done", tags={"workflow": "ship-order"}).runs
        print(f"{len(shipped)} orders shipped, {len(payments)} payments")
