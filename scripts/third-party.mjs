// The contents of the bundle: its packages, the packages embedded in those, their licences, and the list of all as a CycloneDX document.
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/** Folders of the packages that contributed code, from esbuild's own list of inputs. */
export function bundledPackages(root, metafiles) {
  return [...new Set(bundledInputs(metafiles).map((input) => resolve(root, packagePath.exec(input)[1])))].sort();
}

const packagePath = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const bundledInputs = (metafiles) =>
  metafiles
    .flatMap(({ outputs }) => Object.values(outputs))
    .flatMap(({ inputs }) => Object.entries(inputs))
    .flatMap(([input, { bytesInOutput }]) => (bytesInOutput > 0 && packagePath.test(input) ? [input] : []));

/** Packages whose code is inside a bundled file, from that file's source map: `{ name, version }`. */
export async function embeddedPackages(root, metafiles) {
  const found = new Map();
  for (const input of new Set(bundledInputs(metafiles))) {
    const text = await readFile(join(root, `${input}.map`), "utf8").catch(() => undefined);
    for (const source of text === undefined ? [] : JSON.parse(text).sources) {
      // pnpm's folders: node_modules/.pnpm/@scope+name@1.2.3_peer@4.5.6/node_modules/@scope/name/…
      const [, version, name] = /node_modules\/\.pnpm\/@?[^/@]+@([^/_]+)[^/]*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source) ?? [];
      if (name !== undefined) found.set(`${name}@${version}`, { name, version });
      else if (source.includes("node_modules/")) throw new Error(`${input} contains ${source}, whose name and version cannot be determined.`);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The content of each notice: `{ name, version, license, text }`. Code without a licence must not be bundled. */
export async function noticesOf(root, folders, embedded) {
  const kept = await readdir(join(root, "scripts", "embedded-licences"));
  const own = folders.map(async (folder) => {
    const { name, version, license, author } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).sort();
    if (files.length === 0 && license === undefined) throw new Error(`${name}@${version} has neither a licence file nor a licence field; it must not be bundled.`);
    const by = typeof author === "string" ? author : author?.name;
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
    const none = `Licensed under ${license}${by === undefined ? "" : ` by ${by}`}; the package contains no licence text.`;
    return { name, version, license, text: texts.length > 0 ? texts.map((text) => text.trim()).join("\n\n") : none };
  });
  const inside = embedded.map(async ({ name, version }) => {
    const start = `${name.replace("/", "+")}.`;
    const file = kept.find((each) => each.startsWith(start));
    if (file === undefined) throw new Error(`${name}@${version} is inside a bundled package; put its licence into scripts/embedded-licences/${start}SPDX-ID.txt.`);
    const text = await readFile(join(root, "scripts", "embedded-licences", file), "utf8");
    return { name, version, license: file.slice(start.length, -".txt".length), text: text.trim() };
  });
  return Promise.all([...own, ...inside]);
}

export const noticesText = (notices) =>
  [
    "Holdfast's executable, library and dashboard contain code of these packages, each under its own licence.\n",
    ...notices.map(({ name, version, license, text }) => `${"-".repeat(80)}\n${name} ${version} (${license ?? "see below"})\n\n${text}\n`),
  ].join("\n");

/** The same bytes for the same inputs: no time and no random serial number. */
export function cycloneDx({ name, version, license }, lock, notices) {
  const installed = Object.entries(lock.packages)
    .filter(([place, { dev }]) => place !== "" && dev !== true)
    .map(([place, { version: locked, license: spdx, integrity, optional }]) => ({
      ...component({ name: place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length), version: locked, license: spdx }),
      scope: optional === true ? "optional" : "required",
      ...(integrity === undefined ? {} : { hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") }] }),
    }));
  const known = new Set(installed.map((each) => each["bom-ref"]));
  const bundled = notices.map((notice) => ({ ...component(notice), scope: "required" })).filter((each) => !known.has(each["bom-ref"]));
  const components = [...installed, ...bundled].sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
  const project = component({ name, version, license });
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...project, type: "application" } },
    components: [...new Map(components.map((each) => [each["bom-ref"], each])).values()],
  };
}

function component({ name, version, license }) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { type: "library", "bom-ref": purl, name, version, purl, ...(license === undefined ? {} : { licenses: licensesOf(license) }) };
}

const licensesOf = (license) => (/^[A-Za-z0-9.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }]);
