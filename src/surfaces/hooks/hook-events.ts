export const hookEvents = ["session-start", "pre-compact", "post-compact", "session-end"] as const;
export type HookEvent = (typeof hookEvents)[number];
export const isHookEvent = (name: string | undefined): name is HookEvent => (hookEvents as readonly (string | undefined)[]).includes(name);
