// A server with a busy fleet of simulated agents, for a look at the dashboard: `node scripts/demo.mjs [--port 8000] [--minutes 30] [--past 60] [--seed 1]`, after
// `node scripts/build.mjs`.
// The store is a temporary one with an hour of history; simulated agents keep working over HTTP, each with its own token. It ends by itself or with Ctrl-C, and leaves
// nothing behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { employ, principalOf, seeded } from "./demo/agents.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const executable = join(root, "dist", "main.js");
const namespace = "demo";

const { values: flags } = parseArgs({
  options: {
    port: { type: "string", default: "8000" },
    minutes: { type: "string", default: "30" },
    past: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    executable: { type: "string", default: executable },
  },
});
const [minutes, past, seed] = [flags.minutes, flags.past, flags.seed].map(Number);
if (!(minutes > 0 && minutes <= 1_440) || !(past >= 0 && past <= 240) || !Number.isInteger(seed))
  throw new Error("--minutes must be 1 to 1440, --past 0 to 240, --seed a whole number.");
if (!existsSync(flags.executable)) throw new Error(`${flags.executable} does not exist: run \`node scripts/build.mjs\` first.`);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());

const folder = await mkdtemp(join(tmpdir(), "holdfast-demo-"));
let server;
try {
  const path = join(folder, "demo.db");
  if (past > 0) await livePast(path);
  server = await startServer(path);
  const tokens = await makeTokens(server.url);
  // The first line is the address, for scripts that start this command.
  console.log(`${server.url}/ns/${namespace}`);
  console.log(`On this machine, the page needs no token. Read-only token for MCP clients at ${server.url}/mcp: ${tokens.viewer}`);
  console.log(`Ends by itself in ${minutes} minutes, or with Ctrl-C.`);
  await Promise.race([live(server.url, tokens), server.ended]);
} catch (error) {
  if (error.didNotListen !== true) throw error;
  process.exitCode = 1;
  console.error(`${error.message}\nHere: npm run demo -- --port NUMBER`);
} finally {
  if (server !== undefined) await server.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Reports progress on standard error, updating one line on a terminal: standard output begins with the page's address. */
async function livePast(path) {
  const { isTTY } = process.stderr;
  const told = `Simulating the last ${past} minutes (up to a minute)`;
  process.stderr.write(isTTY ? told : `${told}.\n`);
  const onProgress = (share) => isTTY && process.stderr.write(`\r${told}: ${Math.floor(share * 100)} %`);
  try {
    await (await loadPast()).livePast({ path, namespace, minutes: past, seed, onProgress });
  } finally {
    if (isTTY) process.stderr.write("\n");
  }
}

/**
 * The past is simulated by the product's own code, which is TypeScript: it is bundled into a folder next to the installed packages, where its native driver is found.
 */
async function loadPast() {
  const outfile = join(root, "build", `demo-past.${process.pid}.mjs`);
  try {
    await build({
      entryPoints: [join(root, "scripts/demo/past.ts")],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      packages: "external",
      loader: { ".lua": "text" },
      logLevel: "error",
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(outfile, { force: true });
  }
}

async function startServer(path) {
  const child = spawn(
    process.execPath,
    [flags.executable, "serve", "--store", `sqlite:${path}`, "--namespace", namespace, "--profile", "all", "--port", flags.port, "--log-level", "warn"],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, HOME: folder },
    },
  );
  const ended = once(child, "exit");
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const listen = (chunk) => {
      said += chunk;
      const found = /http:\/\/[^\s/]+/.exec(said);
      if (found !== null) resolve(found[0]);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("exit", (code) => reject(Object.assign(new Error(`The server ended with ${code} before it listened: ${said.trim()}`), { didNotListen: true })));
  });
  return {
    url,
    ended: ended.then(([code]) => {
      if (!stop.signal.aborted) throw new Error(`The server ended with ${code}: ${said.slice(-2_000)}`);
    }),
    async stop() {
      stop.abort();
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      // The server ends the streams of open pages within its grace period, and this waits no longer than that.
      if ((await Promise.race([ended, pause(15_000, "late")])) === "late") child.kill("SIGKILL");
    },
  };
}

async function ask(url, token, body) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
    signal: stop.signal,
  });
  const json = await answer.json();
  if (answer.ok) return json;
  const { code = "unknown", message = "" } = json.error ?? {};
  throw Object.assign(new Error(`${url}: ${answer.status} ${code}: ${message}`), {
    refused: ["conflict", "lease_lost", "claim_lost", "claim_held", "workflow_finished", "rate_limited", "unavailable"].includes(code),
  });
}

/** The local operator needs no token and may create tokens. */
async function makeTokens(url) {
  const make = async (name, role) => [name, (await ask(`${url}/api/tokens`, undefined, { name, role, namespaces: [namespace] })).secret];
  return Object.fromEntries(await Promise.all([make("fleet", "write"), make("ci", "write"), make("desk", "write"), make("viewer", "read")]));
}

async function live(url, tokens) {
  const untilMs = Date.now() + minutes * 60_000;
  try {
    // The gpu-worker's runs stay where they stopped, for people to find.
    await employ(
      {
        random: seeded(seed + 1),
        now: Date.now,
        over: () => stop.signal.aborted || Date.now() >= untilMs,
        sleep: (ms) => pause(Math.max(0, Math.min(ms, untilMs - Date.now())), undefined, { signal: stop.signal }),
        call: (agent, tool, args) => ask(`${url}/api/ns/${namespace}/tools/${tool}`, tokens[principalOf(agent)], args),
      },
      ["gpu-worker"],
    );
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}
