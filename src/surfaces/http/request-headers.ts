import type { IncomingMessage } from "node:http";
import type { HttpLimits } from "./http-limits.ts";
import { Refusal } from "./refusal.ts";

/** Headers that two parsers of one request must not interpret differently: a proxy may use the first of two, we the last. */
export function requireSoundHeaders({ rawHeaders }: IncomingMessage, { headersMax }: HttpLimits): void {
  if (rawHeaders.length > headersMax * 2) throw new Refusal("limit_exceeded", `A request must have at most ${headersMax} headers.`, { status: 431 });
  let hosts = 0;
  let credentials = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === "authorization") credentials += 1;
  }
  if (hosts > 1 || credentials > 1) throw new Refusal("invalid_input", `${hosts > 1 ? "Host" : "Authorization"}: must be given once`);
}
