import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Headers } from "./answer.ts";
import { safetyHeaders } from "./answer.ts";

/** The page loads nothing from other sites, runs no inline script, and can neither be framed nor submit a form. */
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};
const compressible = /^text\/|json|svg/;

/** In order of preference. Brotli's highest quality takes five times as long for 7 % less, and the first visitor waits for it. */
const compressions = {
  br: (identity: Buffer) => promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (identity: Buffer) => promisify(gzip)(identity, { level: 9 }),
} as const;
type Encoding = keyof typeof compressions;

interface StaticFile {
  readonly headers: Headers;
  readonly etag: string;
  readonly identity: Buffer;
  readonly isCompressible: boolean;
  /** Each is built when a browser first requests it: on most servers the page is never opened. */
  readonly compressed: Map<Encoding, Promise<Buffer>>;
}

interface FoundFile {
  readonly file: StaticFile;
  readonly status: number;
}

/** Paths that the page uses for its views. */
const ownPath = /^\/(sign-in|tokens|ns\/.+)?$/;

/** The dashboard's files, all in memory: a request can name one of them or none, but never a path of this machine. */
export class StaticFiles {
  readonly #byPath: ReadonlyMap<string, StaticFile>;

  constructor(byPath: ReadonlyMap<string, StaticFile>) {
    this.#byPath = byPath;
  }

  get count(): number {
    return this.#byPath.size;
  }

  /** The file at this path, or the page if the path is one of its views. Users who follow a wrong link also get the page, which says so. */
  find(path: string, accept = ""): FoundFile | undefined {
    const file = this.#byPath.get(path);
    if (file !== undefined) return { file, status: 200 };
    const page = this.#byPath.get("/index.html");
    if (page === undefined) return undefined;
    if (ownPath.test(path)) return { file: page, status: 200 };
    return accept.includes("text/html") && !path.startsWith("/assets/") ? { file: page, status: 404 } : undefined;
  }

  async send({ file, status }: FoundFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers["if-none-match"]?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === file.etag)) {
      response.writeHead(304, { etag: `W/${file.etag}`, "cache-control": file.headers["cache-control"] ?? "no-cache", vary: "Accept-Encoding" });
      response.end();
      return;
    }
    const encoding = file.isCompressible ? chooseEncoding(request.headers["accept-encoding"]) : undefined;
    const body = encoding === undefined ? file.identity : await compressedBody(file, encoding);
    response.writeHead(status, {
      ...file.headers,
      // A weak tag: the same file in another encoding has other bytes.
      etag: `W/${file.etag}`,
      vary: "Accept-Encoding",
      "content-length": String(body.length),
      ...(encoding === undefined ? {} : { "content-encoding": encoding }),
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }
}

/** Reads every file of the folder; none if the folder does not exist. */
export async function openStaticFiles(folder: string): Promise<StaticFiles> {
  const items = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const files = items.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
  const read = await Promise.all(files.map(async (file) => [`/${file.slice(folder.length + 1).replaceAll(sep, "/")}`, await readStatic(file)] as const));
  return new StaticFiles(new Map(read));
}

async function readStatic(file: string): Promise<StaticFile> {
  const identity = await readFile(file);
  const type = contentTypes[extname(file)] ?? "application/octet-stream";
  const isCompressible = compressible.test(type) && identity.length > 512;
  // A file name with a content hash never refers to other contents.
  const isHashed = /[.-][0-9A-Za-z_]{8,}\.[a-z0-9]+$/.test(file);
  const headers = {
    ...safetyHeaders,
    "content-security-policy": pagePolicy,
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "content-type": type,
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
  };
  const etag = `"${createHash("sha256").update(identity).digest("base64url").slice(0, 22)}"`;
  return { headers, etag, identity, isCompressible, compressed: new Map() };
}

function compressedBody({ identity, compressed }: StaticFile, encoding: Encoding): Promise<Buffer> {
  const body = compressed.get(encoding) ?? compressions[encoding](identity);
  compressed.set(encoding, body);
  return body;
}

/** The smallest encoding that the browser accepts; undefined: the file as it is. */
function chooseEncoding(accepted = ""): Encoding | undefined {
  const takes = (name: string): boolean => accepted.split(",").some((part) => new RegExp(`^\\s*${name}\\s*(;\\s*q\\s*=\\s*(1|0\\.0*[1-9]).*)?$`, "i").test(part));
  return (Object.keys(compressions) as Encoding[]).find(takes);
}
