// Pyright, pinned, in .cache/pyright. `node scripts/test-services/pyright.mjs` prints where its program is.
import { printed, requirePackage } from "./npm-package.mjs";

printed(() => requirePackage({ folder: "pyright", name: "pyright", version: "1.1.414", program: "index.js", who: "The Python package is checked by Pyright" }));
