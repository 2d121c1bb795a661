import type { Json } from "../../kernel/json.ts";
import { everything } from "../../store/ranges.ts";
import type { RunJob } from "../job.ts";

/** Reports every change after a revision until it is killed. */
export const watchJob: RunJob = async ({ job, store, say }) => {
  for await (const change of store.watch(everything, Number(job.after), new AbortController().signal)) say({ change: change as unknown as Json });
};
