import { relative } from "node:path";
import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/** Files that take long for their size, by which Vitest orders a first run. If one of them started last, the other workers would wait for it at the end. */
export const longForTheirSize: readonly string[] = [
  "test/store/postgres.test.ts",
  "test/verify/short-campaigns.test.ts",
  "test/parity/ranking.test.ts",
  "test/linear-time.test.ts",
  "test/store/sqlite.test.ts",
  "test/store/redis.test.ts",
  "test/tutorial.test.ts",
  "test/timing/hook-time.test.ts",
  "test/surfaces/http-auth/processes.test.ts",
  "test/store/redis-topologies.test.ts",
  "test/verify/interrupted.test.ts",
  "test/crash/byte-flips.test.ts",
  "test/support/servers/redis-server.test.ts",
];

/** The longest files first, so that all workers end at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const position = ({ moduleId }: TestSpecification): number => {
      const index = longForTheirSize.indexOf(relative(this.ctx.config.root, moduleId).replaceAll("\\", "/"));
      return index === -1 ? longForTheirSize.length : index;
    };
    return (await super.sort(files)).toSorted((one, other) => position(one) - position(other));
  }
}
