import { afterAll } from "vitest";
import type { Holdfast } from "../../src/index.ts";
import { connectHoldfast, openHoldfast } from "../../src/index.ts";
import { randomHex } from "../../src/kernel/ids.ts";
import { engineNamed } from "../support/engines.ts";
import type { HttpProcess } from "../support/http-process.ts";
import { startHttpProcess } from "../support/http-process.ts";
import { sharedBuild } from "../support/shared-builds.ts";

/** One way to the library's interface: each opening has a store, or a namespace, that nobody has used. */
export interface LibraryUnderTest {
  readonly name: string;
  open(options?: { readonly agent?: string; readonly workspace?: string }): Promise<Holdfast>;
}

/** Both implementations: embedded, and remote on a `holdfast serve` of its own process, which is started when a file first asks for it. */
export function libraries(): readonly LibraryUnderTest[] {
  let server: Promise<HttpProcess> | undefined;
  afterAll(async () => (await server)?.[Symbol.asyncDispose]());
  const embedded = (engine: string): LibraryUnderTest => ({
    name: `embedded on ${engine}`,
    open: async ({ workspace: _, ...options } = {}) => openHoldfast({ store: await engineNamed(engine).freshUrl(), agent: "a1", ...options }),
  });
  const remote: LibraryUnderTest = {
    name: "remote",
    async open(options) {
      server ??= sharedBuild("executable").then((main) => startHttpProcess(main, ["--store", "memory:", "--rate-limit", "1000000"]));
      return connectHoldfast((await server).url, { namespace: `n-${randomHex(12)}`, agent: "a1", ...options });
    },
  };
  return [embedded("memory"), embedded("SQLite"), remote];
}
