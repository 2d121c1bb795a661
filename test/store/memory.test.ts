import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { describeStore } from "./conformance/describe-store.ts";

describeStore("memory", async (clock) => new MemoryEngine(clock), { durable: false });
