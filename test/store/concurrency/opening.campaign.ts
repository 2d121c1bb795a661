import { join } from "node:path";
import { test } from "vitest";
import { openAtOnce } from "../../support/open-at-once.ts";
import { openProgress } from "../../support/open-progress.ts";
import { scaled } from "../../support/scale.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const rounds = scaled(10, 3);

test(`eight processes open a new file at the same moment and all of them work, ${rounds} times over`, async () => {
  const folder = await temporaryFolder();
  const tell = openProgress("processes that open a new file");
  for (let round = 0; round < rounds; round += 1) {
    await openAtOnce(join(folder, `store-${round}.db`));
    tell(round + 1, rounds);
  }
});
