import type { BegunEffect } from "../../../src/domain/effects/begin-effect.ts";
import type { EffectReport } from "../../../src/domain/effects/finish-effect.ts";
import { randomHex } from "../../../src/kernel/ids.ts";
import type { BegunCall, CallRecordsOptions } from "../../../src/surfaces/proxy/call-records.ts";
import { CallRecords } from "../../../src/surfaces/proxy/call-records.ts";
import type { EffectCall } from "../../../src/surfaces/proxy/read-call.ts";
import type { ToolRule } from "../../../src/surfaces/proxy/tool-rules.ts";
import type { ProxyParts } from "./counted-rounds.ts";

type Waiting = Parameters<CallRecords["begin"]>[2];

/** Records that say "begun" at once and are written when the answer is there. */
class RecordsAfterTheCall extends CallRecords {
  #call: Parameters<CallRecords["begin"]> | undefined;
  override begin(call: EffectCall, rule: ToolRule, waiting: Waiting): Promise<BegunEffect> {
    this.#call = [call, rule, waiting];
    return Promise.resolve({ outcome: "begun", id: `fx-${"0".repeat(20)}`, token: 1, attempt: 1, liveUntilMs: 0 });
  }
  override async finish(_begun: BegunCall, outcome: EffectReport): Promise<void> {
    const begun = await super.begin(...(this.#call as Parameters<CallRecords["begin"]>));
    if (begun.outcome === "begun") await super.finish(begun, outcome);
  }
}

class KeyForEachAttempt extends CallRecords {
  constructor(options: CallRecordsOptions) {
    super({ ...options, upstreamName: randomHex(8) });
  }
}

/** What an earlier process began counts for nothing. */
class InFlightForgotten extends CallRecords {
  override begin(call: EffectCall, rule: ToolRule, waiting: Waiting): Promise<BegunEffect> {
    return super.begin(call, { ...rule, unknown: "retry" }, waiting);
  }
}

/** The answer is passed on while it is being recorded. */
class AnswerBeforeRecord extends CallRecords {
  override finish(begun: BegunCall, outcome: EffectReport): Promise<void> {
    void super.finish(begun, outcome).catch(() => {});
    return Promise.resolve();
  }
}

/** No answer is taken for no effect. */
class LostMeansFailed extends CallRecords {
  override finish(begun: BegunCall, outcome: EffectReport): Promise<void> {
    return super.finish(begun, outcome.state === "unknown" ? { state: "failed", error: null } : outcome);
  }
}

/** No answer is taken for an effect. */
class LostMeansDone extends CallRecords {
  override begin(call: EffectCall, rule: ToolRule, waiting: Waiting): Promise<BegunEffect> {
    return super.begin(call, { ...rule, unknown: "assume-done" }, waiting);
  }
}

/** Calls are told apart by their tool alone. */
class ArgumentsIgnored extends CallRecords {
  override begin(call: EffectCall, rule: ToolRule, waiting: Waiting): Promise<BegunEffect> {
    return super.begin({ ...call, identifyingArgs: { n: 0 } }, rule, waiting);
  }
}

class NeverFinished extends CallRecords {
  override finish(): Promise<void> {
    return Promise.resolve();
  }
}

/** A record that cannot be written does not keep the call from leaving. */
class BeginIsOptional extends CallRecords {
  override begin(call: EffectCall, rule: ToolRule, waiting: Waiting): Promise<BegunEffect> {
    return super.begin(call, rule, waiting).catch(() => ({ outcome: "begun", id: `fx-${"0".repeat(20)}`, token: 1, attempt: 1, liveUntilMs: 0 }) as const);
  }
  override finish(begun: BegunCall, outcome: EffectReport): Promise<void> {
    return super.finish(begun, outcome).catch(() => {});
  }
}

/** Records are forgotten as soon as the answer is there. */
class NothingKept extends CallRecords {
  constructor(options: CallRecordsOptions) {
    super({ ...options, repeatMs: 1 });
  }
}

/** Proxies with a defect, each of a kind that a real one could have, and what the rounds must find in it. */
export const plantedProxies: readonly (ProxyParts & { readonly defect: string; readonly shows: string })[] = [
  { defect: "records after the call", records: RecordsAfterTheCall, shows: "doubled" },
  { defect: "mints a key for each attempt", records: KeyForEachAttempt, shows: "doubled" },
  { defect: "forgets what was in flight when it restarts", records: InFlightForgotten, shows: "doubled" },
  { defect: "passes the answer on before it is recorded", records: AnswerBeforeRecord, shows: "acknowledgement_lost" },
  { defect: "takes a tool with an effect for read-only", rule: "read-only", shows: "doubled" },
  { defect: "takes no answer for no effect", records: LostMeansFailed, shows: "doubled" },
  { defect: "takes no answer for an effect", records: LostMeansDone, shows: "acknowledged_without_effect" },
  { defect: "gives one call the answer of another", records: ArgumentsIgnored, shows: "answer_of_another_call" },
  { defect: "never records an answer", records: NeverFinished, shows: "acknowledgement_lost" },
  { defect: "calls although it could not record", records: BeginIsOptional, shows: "doubled" },
  { defect: "delivers a call twice", deliveries: 2, shows: "doubled" },
  { defect: "forgets records too early", records: NothingKept, shows: "doubled" },
];
