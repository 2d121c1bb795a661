// The official Python client of MCP, and Prometheus's own reader of its text format, pinned, in a virtual environment under .cache/python-client.
// `node scripts/test-services/python-client.mjs` prints the interpreter that can import it.
import { printed } from "./npm-package.mjs";
import { requirePythonPackages } from "./python-environment.mjs";

printed(() => requirePythonPackages({ folder: "python-client", wanted: ["mcp==2.3.0", "prometheus-client==0.26.0"], who: "The stories need the Python client" }));
