/** Idle connections are closed after this time, before a server or proxy closes them while a request is being sent. */
const idleMsMax = 20_000;
const idleSocketsMax = 16;
/** How often the system probes a silent connection (TCP keep-alive). */
const probeEveryMs = 15_000;

/** Loads only the module that is needed. */
export async function openHttpClient(isSecure: boolean) {
  const { Agent, request } = isSecure ? await import("node:https") : await import("node:http");
  return { request, agent: new Agent({ keepAlive: true, keepAliveMsecs: probeEveryMs, maxFreeSockets: idleSocketsMax, timeout: idleMsMax }) };
}
