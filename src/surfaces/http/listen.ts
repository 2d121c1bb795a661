import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** The flag or variable of each setting, for error messages. */
  readonly origins: { readonly host: string; readonly port: string };
}

/** Resolves with the address it listens on. Errors name the flag or variable to change. */
export async function listen(server: Server, { host, port, origins }: ListenOptions): Promise<AddressInfo> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: host.replace(/^\[(.*)\]$/, "$1"), port, backlog: 1_024 }, () => {
        server.off("error", reject);
        resolve();
      });
    });
    return server.address() as AddressInfo;
  } catch (error) {
    throw named(error as NodeJS.ErrnoException, host, port, origins);
  }
}

function named(error: NodeJS.ErrnoException, host: string, port: number, origins: ListenOptions["origins"]): Error {
  const hostField = origins.host === "default" ? "--host" : origins.host;
  const portField = origins.port === "default" ? "--port" : origins.port;
  switch (error.code) {
    case "EADDRINUSE":
      return new HoldfastError("invalid_input", `${portField}: port ${port} of ${host} is in use by another program`, {
        hint: "Pass --port NUMBER, or --port 0 for any free port. Another Holdfast may already be serving there.",
        cause: error,
      });
    case "EACCES":
    case "EPERM":
      return new HoldfastError("invalid_input", `${portField}: this user may not listen on port ${port}`, { hint: "Ports from 1024 need no special permission.", cause: error });
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EINVAL":
      return invalidInput(hostField, `${host} is not an address of this machine`);
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return invalidInput(hostField, `${host} cannot be found`);
    default:
      return error;
  }
}

/** The URL for callers. If the server listens on every address, one of this machine's addresses is used, which other machines can reach too. */
export function reachedAt(address: AddressInfo): string {
  if (address.address !== "0.0.0.0" && address.address !== "::") return shownAddress(address);
  const outward = Object.values(networkInterfaces()).flatMap((found) => found?.filter(({ internal, address: own }) => !internal && !own.startsWith("fe80:")) ?? []);
  const { address: own, family } = outward.find((found) => found.family === "IPv4") ?? outward.find(() => address.family === "IPv6") ?? { address: "127.0.0.1", family: "IPv4" };
  return shownAddress({ ...address, address: own, family });
}

/** The address as written in a URL. */
export const shownAddress = ({ address, family, port }: AddressInfo): string => `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
