import { connect } from "node:net";
import type { Address } from "./redis-url.ts";

const answerMsMax = 1_000;

/** Does a Redis answer there without TLS? Asked with a word that holds no secret; whatever it says (PONG, that a password is missing, that it is loading) begins with a plus or a minus. */
export function answersWithoutTls({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => socket.write("PING\r\n"));
    const finish = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.unref();
    socket.setTimeout(answerMsMax, () => finish(false));
    socket.once("data", (bytes) => finish(/^[+-][A-Z]/.test(bytes.toString("latin1"))));
    socket.once("error", () => finish(false));
    socket.once("close", () => finish(false));
  });
}
