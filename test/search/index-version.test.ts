import { expect, test } from "vitest";
import { fingerprint } from "../../src/kernel/json.ts";
import { indexText } from "../../src/search/index-text.ts";
import { indexVersion } from "../../src/search/index-version.ts";

/** Texts that use everything the index does: stems, names in code, parts, numbers, other scripts, stop words, weights. */
const texts = [
  "The deployments were deployed by the deployer, who deploys daily",
  "readHTTPHeader, snake_case_name, kebab-case-name, src/store/store.ts:42, v1.2.3-rc.1, 4f2a9c1e",
  "Größe, naïve, ЧАСТЬ, 検索の索引, ค้นหา, ٣٤٥, e-mail: a.b@example.org, https://example.org/x?y=1",
  "to be or not to be, that is the question",
];

/** By version: what the index holds of these texts. */
const indexedAs: Readonly<Record<number, string>> = { 1: "5e7b52321790d293da488674f7438c62" };

test("what the index holds of a text changes only with its version", () => {
  const held = fingerprint(
    texts.map((text) => {
      const { length, terms } = indexText("x", [
        { text, weight: 1 },
        { text: text.slice(0, 20), weight: 3 },
      ]);
      return { length, terms };
    }),
  );
  expect(held, "the tokenizer, the stems or the weights have changed: raise indexVersion (src/search/index-version.ts), or what is stored is not found any more").toBe(
    indexedAs[indexVersion],
  );
});
