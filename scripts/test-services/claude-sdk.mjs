// The Claude Agent SDK, pinned, in .cache/claude-sdk, without the program that it would start. `node scripts/test-services/claude-sdk.mjs` prints where its
// entry is. No test calls a model.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  requirePackage({
    folder: "claude-sdk",
    name: "@anthropic-ai/claude-agent-sdk",
    version: "0.3.327",
    program: "sdk.mjs",
    who: "The session store is checked with the Claude Agent SDK",
    flags: ["--omit=optional", "--legacy-peer-deps"],
  }),
);
