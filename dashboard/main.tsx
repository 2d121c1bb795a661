import { render } from "preact";
import { App } from "./app.tsx";
import { startSession } from "./data/session.ts";
import { startRouter } from "./router.ts";

startRouter();
void startSession();
const page = document.getElementById("page");
if (page !== null) render(<App />, page);
