// The tools that build and check the Python package, pinned, in a virtual environment under .cache/python-tools.
// `node scripts/test-services/python-tools.mjs` prints the interpreter that has it.
import { printed } from "./npm-package.mjs";
import { requirePythonPackages } from "./python-environment.mjs";

printed(() =>
  requirePythonPackages({
    folder: "python-tools",
    wanted: ["build==1.6.1", "hatchling==1.33.0", "mypy==2.4.1", "twine==7.0.0"],
    who: "The Python package is built and checked by tools",
  }),
);
