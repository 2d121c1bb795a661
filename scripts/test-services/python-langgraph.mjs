// LangGraph for Python with its public conformance suite and its own savers for SQLite and PostgreSQL, pinned, in a virtual environment under
// .cache/python-langgraph. `node scripts/test-services/python-langgraph.mjs` prints the interpreter that can import them.
import { printed } from "./npm-package.mjs";
import { requirePythonPackages } from "./python-environment.mjs";

printed(() =>
  requirePythonPackages({
    folder: "python-langgraph",
    wanted: [
      "langgraph==1.2.22",
      "langgraph-checkpoint==4.3.2",
      "langgraph-checkpoint-conformance==0.0.2",
      "langgraph-checkpoint-postgres==3.2.0",
      "langgraph-checkpoint-sqlite==3.1.2",
      "psycopg-binary==3.3.9",
    ],
    who: "The checkpointer for LangGraph is tested with LangGraph",
  }),
);
