import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { guardFolder } from "./orphan-guard.ts";

export interface Certificate {
  /** Signed by itself: also the authority that a client has to trust. */
  readonly certFile: string;
  readonly keyFile: string;
}

let made: Promise<Certificate> | undefined;

/** A certificate for localhost and 127.0.0.1, made once per process and gone with it. */
export function loopbackCertificate(): Promise<Certificate> {
  made ??= make();
  return made;
}

async function make(): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-certificate-"));
  guardFolder(folder);
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  await promisify(execFile)("openssl", ["req", "-x509", ...kind, ...names, "-keyout", keyFile, "-out", certFile]).catch((error: Error) => {
    throw new Error(`The tests need openssl on the PATH to make a certificate (on Debian or Ubuntu: apt-get install openssl). ${error.message}`);
  });
  return { certFile, keyFile };
}
