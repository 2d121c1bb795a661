import type { Request } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/** The resources that a listen request names, as far as it can be parsed; the SDK validates the whole request. */
export function listenedUris({ params }: Request): readonly string[] {
  const filter = params?.notifications;
  const uris = isPlainObject(filter) ? filter.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}
