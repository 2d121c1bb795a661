import * as z from "zod";
import { readResume } from "../domain/resume/resume.ts";
import { locateWorkspace } from "../domain/workspace/workspace.ts";
import { label, texts } from "./fields.ts";
import { sessionOf, workspace } from "./journal-tools.ts";
import { defineTool } from "./tool.ts";

const tokens = { default: 1_500, min: 200, max: 20_000 } as const;

export const resume = defineTool({
  name: "resume",
  title: "Resume work",
  description: `After a crash, compaction or hand-over: what you were doing, what is done and next, what others changed (since_revision), what can be claimed. You: agent_id or session_id. query: search journal, research, notes (also: other wordings). max_tokens: default ${tokens.default}.`,
  toolset: "resume",
  effect: "read",
  input: z.strictObject({
    agent_id: label.optional(),
    session_id: label.optional(),
    workspace: workspace.optional(),
    since_revision: z.int().min(0).optional(),
    query: z.string().min(1).max(2_000).optional(),
    also: texts,
    skill: z.string().optional(),
    max_tokens: z.int().min(tokens.min).max(tokens.max).optional(),
  }),
  output: z.strictObject({
    text: z.string(),
    revision: z.int(),
    workspace: z.strictObject({ id: z.string(), name: z.string(), hint: z.string().optional() }),
    items: z.strictObject({ journal: z.int(), highlights: z.int(), runs: z.int(), leases: z.int(), effects: z.int(), research: z.int(), changes: z.int(), knowledge: z.int() }),
    omitted: z.int(),
    tokens: z.int(),
  }),
  positional: [],
  async handle(context, args) {
    const workspace = await locateWorkspace(context.store, context.server.surroundings, args.workspace?.trim());
    const { surroundings, claims } = context.server;
    const pack = await readResume(context, {
      workspace: workspace,
      agent: args.agent_id,
      sessions: [...(args.session_id === undefined ? [] : [args.session_id]), sessionOf(context, workspace, context.clock.nowMs())],
      sinceRevision: args.since_revision,
      query: args.query,
      also: args.also,
      skill: args.skill,
      tokensMax: args.max_tokens ?? tokens.default,
      claimedHere: (runId, token) => claims?.tokenOf(context, runId) === token,
      repository: workspace.folder === undefined ? undefined : surroundings?.readState?.(workspace.folder),
    });
    const { shown } = pack;
    const count = (name: string): number => shown[name] ?? 0;
    return {
      text: pack.text,
      revision: pack.revision,
      workspace: { id: workspace.id, name: workspace.name, ...(workspace.hint === undefined ? {} : { hint: workspace.hint }) },
      items: {
        journal: count("journal"),
        highlights: count("highlights"),
        runs: count("runs"),
        leases: count("leases"),
        effects: count("effects"),
        research: count("research"),
        changes: count("changes"),
        knowledge: count("knowledge"),
      },
      omitted: pack.omitted,
      tokens: pack.tokens,
    };
  },
  render: (answer) => [answer.text as string],
});

export const resumeTools = [resume];
