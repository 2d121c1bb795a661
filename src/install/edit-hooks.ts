import type { Edit, Insertion } from "./edit.ts";
import { withdrawn } from "./edit.ts";
import { isRecord, openJson } from "./edit-json.ts";

/** The Claude Code events that run one of our commands: once per session or once per compaction, never for every prompt. */
const hookEvents = {
  SessionStart: { command: "session-start", matcher: "startup|resume|clear|compact" },
  PreCompact: { command: "pre-compact" },
  PostCompact: { command: "post-compact" },
  SessionEnd: { command: "session-end" },
} as const;

/** Claude Code gives up after this long; the hook itself ends far sooner. */
const timeoutSeconds = 5;

/** The hooks section of Claude Code's settings; the parameter writes the command of each hook. */
export const hookGroups = (commandOf: (hook: string) => string): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  Object.fromEntries(
    Object.entries(hookEvents).map(([event, { command, ...matcher }]) => [
      event,
      { ...matcher, hooks: [{ type: "command", command: commandOf(command), timeout: timeoutSeconds }] },
    ]),
  );

export function claudeHooks(path: string, commandOf: (hook: string) => string): Insertion {
  return {
    path,
    what: "hooks",
    add(text) {
      const file = openJson(path, text);
      for (const [event, group] of Object.entries(hookGroups(commandOf))) {
        const [hook] = group.hooks as readonly unknown[];
        const [mine] = ownHooks(file.at(["hooks", event]));
        if (mine === undefined) file.append(["hooks", event], group);
        else file.set(["hooks", event, mine.group, "hooks", mine.hook], hook);
      }
      return file.text();
    },
    remove(text, before) {
      const file = openJson(path, text);
      let found = false;
      for (const event of Object.keys(hookEvents)) {
        // From last to first, so that the indexes of the others stay valid.
        for (const { group, hook, alone } of ownHooks(file.at(["hooks", event])).reverse()) {
          file.delete(alone ? ["hooks", event, group] : ["hooks", event, group, "hooks", hook]);
          found = true;
        }
        file.prune(["hooks", event], before);
      }
      return found ? file.textOrNothing(before) : text;
    },
  };
}

/** For a remote server, or one without a journal: hooks of an earlier installation would keep saving entries that are never read. */
export const noClaudeHooks = (path: string): Edit => withdrawn(claudeHooks(path, () => ""));

interface HookLocation {
  readonly group: number;
  readonly hook: number;
  /** The hook is the only one in its group. */
  readonly alone: boolean;
}

function ownHooks(groups: unknown): HookLocation[] {
  if (!Array.isArray(groups)) return [];
  return groups.flatMap((group, groupIndex) => {
    const hooks = isRecord(group) && Array.isArray(group.hooks) ? group.hooks : [];
    return hooks.flatMap((hook, index) => (isOwnHook(hook) ? [{ group: groupIndex, hook: index, alone: hooks.length === 1 }] : []));
  });
}

/** Recognises our command line, however it is started. */
const isOwnHook = (hook: unknown): boolean =>
  isRecord(hook) && typeof hook.command === "string" && /(holdfast|[\\/]main\.js)["']? hook (session-start|pre-compact|post-compact|session-end)\b/.test(hook.command);
