import { sharedBuild } from "../shared-builds.ts";

/** The executable as the package has it, built from the sources as they are now: a dist/ that lies about may be older. Removed with the run. */
export async function buildDist(): Promise<{ readonly main: string; remove(): Promise<void> }> {
  return { main: await sharedBuild("executable"), remove: async () => {} };
}
