import type { Request } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/** The resources a listen request wants to hear about, as far as it can be read; the SDK judges the request as a whole. */
export function listenedUris({ params }: Request): readonly string[] {
  const filter = params?.notifications;
  const uris = isPlainObject(filter) ? filter.resourceSubscriptions : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}
