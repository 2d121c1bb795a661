import { PassThrough } from "node:stream";
import type { BridgeOptions } from "../connect/bridge.ts";
import { bridge } from "../connect/bridge.ts";
import type { OpenUpstream } from "./upstream.ts";

/** A server at a URL, connected through the same bridge as `holdfast connect`. */
export function urlUpstream(options: Pick<BridgeOptions, "url" | "credential" | "clock" | "log" | "retryForMs" | "endMsMax">): OpenUpstream {
  return (onUnanswered) => {
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const ended = bridge({ ...options, stdin, stdout, isForeign: true, onUnanswered }).then(() => `at ${options.url.host} was disconnected`);
    return {
      stdin,
      stdout,
      ended,
      async stop() {
        stdin.end();
        await ended;
      },
    };
  };
}
