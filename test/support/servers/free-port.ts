import { once } from "node:events";
import { createServer } from "node:net";

const portMin = 12_000;
/** A node of a Redis Cluster talks to the others on its port plus 10,000, which has to stay below that range too. */
const portMax = 22_000;

/**
 * A loopback port that nobody listens on. Below the range from which systems take the ports of outgoing connections: a server that is
 * killed must find its port free when it returns, and a client that keeps trying a dead port must not end up connected to itself.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    if (await canListen(port)) return port;
  }
  throw new Error(`No free loopback port was found between ${portMin} and ${portMax}.`);
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: "127.0.0.1", exclusive: true });
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}

/** Between the look and the start somebody else may take the port: try another. */
export async function onFreePort<Server>(start: (port: number) => Promise<Server>): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (attempt === 5 || !(error instanceof Error) || !/address already in use/i.test(error.message)) throw error;
    }
  }
}
