import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ServerCommand } from "./line-client.ts";

/** Where the bundles are: this file is one of them when it runs. */
const bundles = dirname(fileURLToPath(import.meta.url));

export const bundled = (name: string): string => join(bundles, name);

export const echoServer: ServerCommand = { file: bundled("echo-server.mjs") };

/** Passed to every measurement: a separate folder on a real disk, and a function to report progress. */
export interface Surroundings extends Disposable {
  readonly folder: string;
  product(storeName: string): ServerCommand;
  /** The product over HTTP, on a free port, which is in its first line of output. */
  serving(storeName: string): ServerCommand;
  progress(text: string): void;
}

export function openSurroundings({ dir, server }: { readonly dir?: string; readonly server?: string }): Surroundings {
  const place = resolve(dir ?? join(bundles, "data"));
  const file = resolve(server ?? join(bundles, "product", "main.js"));
  mkdirSync(place, { recursive: true });
  const folder = mkdtempSync(join(place, "run-"));
  const isTerminal = process.stderr.isTTY === true;
  return {
    folder,
    product: (storeName) => ({ file, args: ["--store", `sqlite:${join(folder, storeName)}`] }),
    // The rate of one caller is limited, and a bench is one caller.
    serving: (storeName) => ({ file, args: ["serve", "--json", "--port", "0", "--rate-limit", "1000000", "--store", `sqlite:${join(folder, storeName)}`] }),
    progress(text) {
      if (isTerminal) process.stderr.write(`\r\u001b[2K${text}`);
    },
    [Symbol.dispose]() {
      if (isTerminal) process.stderr.write("\r\u001b[2K");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
