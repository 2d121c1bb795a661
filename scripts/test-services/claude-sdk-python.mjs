// The Claude Agent SDK for Python with its contracts for session stores, pinned, in .cache/claude-sdk-python.
// `node scripts/test-services/claude-sdk-python.mjs` prints the interpreter that has it. No test starts its program or calls a model.
import { printed } from "./npm-package.mjs";
import { requirePythonPackages } from "./python-environment.mjs";

printed(() =>
  requirePythonPackages({ folder: "claude-sdk-python", wanted: ["claude-agent-sdk==0.2.184"], who: "The contracts of session stores are part of the Claude Agent SDK" }),
);
