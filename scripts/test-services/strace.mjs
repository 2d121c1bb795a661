// Prints the name of a working strace, after installing it if that is allowed; the power-loss tests need it.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

if (!hasStrace() && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
  spawnSync("apt-get", ["update", "-qq"], { stdio: "ignore" });
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "strace"], { stdio: "ignore" });
}
if (hasStrace()) process.stdout.write("strace\n");
else {
  process.stderr.write(
    "The power-loss tests need strace (Linux): run `apt-get install strace` as root, or install your distribution's strace package, and make sure that tracing is allowed here.\n",
  );
  process.exitCode = 1;
}

/** It must also be allowed to trace: some containers have the program and forbid its use. */
function hasStrace() {
  return spawnSync("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" }).status === 0;
}
