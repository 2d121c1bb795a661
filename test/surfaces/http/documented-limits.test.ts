import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configSchema } from "../../../src/settings.ts";
import { httpLimits } from "../../../src/surfaces/http/http-limits.ts";

test("docs/serving.md states every limit of the front with its value", () => {
  const page = readFileSync(new URL("../../../docs/serving.md", import.meta.url), "utf8");
  const stated = Object.fromEntries(
    [...page.matchAll(/^\| [^|]+ \| ([\d,]+)[^|(]*\(`(\w+)`\) \| [^|]+ \|$/gm)].map(([, value, name]) => [name, Number(value?.replaceAll(",", ""))]),
  );
  expect(stated).toEqual(httpLimits);
  expect(page).toContain(`${configSchema.shape.rateLimit.parse(undefined).toLocaleString("en")}, as many at once (\`--rate-limit\`)`);
});
