import { catalog } from "../../tools/catalog.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Command } from "./command.ts";
import { completionCommand } from "./completion.ts";
import { doctorCommand } from "./doctor.ts";
import { effectCommands } from "./effect-commands.ts";
import { backupCommand, exportCommand } from "./export-command.ts";
import { hookCommand } from "./hook-command.ts";
import { importCommand } from "./import-command.ts";
import { installCommand, uninstallCommand } from "./install-command.ts";
import { journalTodayCommand } from "./journal-today.ts";
import { knowledgeCommands } from "./knowledge-commands.ts";
import { leaseExecCommand } from "./lease-exec.ts";
import { listCommands } from "./list-commands.ts";
import { connectCommand, mcpCommand } from "./main-commands.ts";
import { migrateCommand } from "./migrate-command.ts";
import { proxyCommand } from "./proxy-command.ts";
import { restoreCommand } from "./restore-command.ts";
import { serveCommand } from "./serve-command.ts";
import { tokenCommands } from "./token-command.ts";
import { toolCommand } from "./tool-command.ts";
import { verifyCommand } from "./verify-command.ts";
import { watchCommand } from "./watch-command.ts";

const shorthands: readonly Command[] = [
  toolCommand(requireTool("state_get"), { path: ["get"], bare: true }),
  toolCommand(requireTool("state_set"), { path: ["set"] }),
  toolCommand(requireTool("state_list"), { path: ["ls"] }),
  toolCommand(requireTool("state_delete"), { path: ["rm"] }),
];

/** Commands that are not tools. Add new ones only here. */
const plainCommands: readonly Command[] = [
  watchCommand,
  leaseExecCommand,
  ...effectCommands,
  doctorCommand,
  verifyCommand,
  importCommand,
  exportCommand,
  backupCommand,
  restoreCommand,
  migrateCommand,
  ...tokenCommands,
  journalTodayCommand,
  ...knowledgeCommands,
  ...listCommands,
  installCommand,
  uninstallCommand,
  hookCommand,
  completionCommand,
  mcpCommand,
  serveCommand,
  connectCommand,
  proxyCommand,
];

/** Every command, in the order help and documentation list them. */
export const commands: readonly Command[] = [...shorthands, ...plainCommands, ...catalog.map((tool) => toolCommand(tool))];

function requireTool(name: string): Tool {
  const tool = catalog.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`The catalog has no tool ${name}.`);
  return tool;
}
