import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { gitEnvironment } from "../../src/config.ts";
import { listEntries } from "../../src/domain/journal/find-entries.ts";
import { openFolderReader } from "../../src/domain/workspace/repository-reader.ts";
import { readRepositoryState } from "../../src/domain/workspace/repository-state.ts";
import { withoutFilters } from "../../src/domain/workspace/safe-git.ts";
import { locateWorkspace } from "../../src/domain/workspace/workspace.ts";
import { runHook } from "../../src/surfaces/hooks/run-hook.ts";
import { commitFile, createRepository, git } from "../support/git-repository.ts";
import { openScope } from "../support/scope.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let outside: string;
let folder: string;
let ran: string;
/** Leaves a file behind when anything runs it, then does what a filter does. */
let program: string;

beforeEach(async () => {
  outside = realpathSync(await temporaryFolder());
  folder = createRepository(outside, "project");
  ran = join(outside, "ran");
  program = join(outside, "program");
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${ran}\ncat\n`);
  chmodSync(program, 0o700);
});

/** Changed without a change of size, so that git must look inside. */
function touchUp(file: string): void {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, `${text.slice(0, -2)}#\n`);
  utimesSync(file, 1_000_000_000, 1_000_000_000);
}

const look = () => readRepositoryState(folder, gitEnvironment(), 30_000);
const ranPrograms = () => (existsSync(ran) ? readFileSync(ran, "utf8") : "");
const filtered = (attribute: string) => {
  writeFileSync(join(folder, ".gitattributes"), `* ${attribute}\n`);
  commitFile(folder, "b.txt", "add attributes");
  touchUp(join(folder, "README"));
};

describe("what a repository's configuration names is never run", () => {
  test("the program is one that git would run: this test would see it", () => {
    filtered("filter=evil");
    git(folder, "config", "filter.evil.clean", program);
    git(folder, "status");
    expect(ranPrograms()).toContain("program");
  });

  test.each(["clean", "process"])("a filter's %s command", async (command) => {
    filtered("filter=evil.with.dots");
    git(folder, "config", `filter.evil.with.dots.${command}`, program);
    git(folder, "config", "filter.evil.with.dots.required", "true");
    expect((await look()).changedFiles).toEqual(["README"]);
    expect(ranPrograms()).toBe("");
  });

  test("a filter of a file that the configuration includes, and of the worktree's own", async () => {
    filtered("filter=evil");
    writeFileSync(join(outside, "included"), `[filter "evil"]\n\tclean = ${program}\n`);
    git(folder, "config", "include.path", join(outside, "included"));
    expect((await look()).changedFiles).toEqual(["README"]);
    git(folder, "config", "--unset", "include.path");
    git(folder, "config", "extensions.worktreeConfig", "true");
    writeFileSync(join(folder, ".git", "config.worktree"), `[filter "evil"]\n\tclean = ${program}\n`);
    expect((await look()).changedFiles).toEqual(["README"]);
    expect(ranPrograms()).toBe("");
  });

  test("a filter whose name no option can say: then git is not asked what changed", async () => {
    filtered("filter=a=b");
    git(folder, "config", "filter.a=b.clean", program);
    expect((await look()).changedFiles).toBeUndefined();
    expect(ranPrograms()).toBe("");
    expect(withoutFilters("filter.x.clean\0filter.a\nb.clean\0")).toBeUndefined();
  });

  test("a filter of a submodule", async () => {
    const other = createRepository(outside, "other");
    git(folder, "submodule", "--quiet", "add", other, "part");
    git(folder, "commit", "-q", "-m", "add part");
    const part = join(folder, "part");
    mkdirSync(join(folder, ".git", "modules", "part", "info"), { recursive: true });
    writeFileSync(join(folder, ".git", "modules", "part", "info", "attributes"), "* filter=evil\n");
    git(part, "config", "filter.evil.clean", program);
    touchUp(join(part, "README"));
    expect((await look()).changedFiles).toEqual([]);
    expect(ranPrograms()).toBe("");
  });

  test("a file system monitor, hooks, a pager, diff and signature programs", async () => {
    filtered("diff=evil");
    const hooks = join(outside, "hooks");
    mkdirSync(hooks);
    for (const hook of ["post-index-change", "fsmonitor-watchman", "post-checkout"]) {
      writeFileSync(join(hooks, hook), readFileSync(program));
      chmodSync(join(hooks, hook), 0o700);
    }
    const settings = { "core.fsmonitor": program, "core.hooksPath": hooks, "core.pager": program, "pager.log": program, "pager.status": program, "diff.external": program };
    const more = {
      "diff.evil.textconv": program,
      "diff.evil.command": program,
      "gpg.program": program,
      "log.showSignature": "true",
      "core.editor": program,
      "alias.status": `!${program}`,
    };
    for (const [name, value] of Object.entries({ ...settings, ...more })) git(folder, "config", name, value);
    expect(await look()).toMatchObject({ changedFiles: ["README"], recentCommits: [expect.stringContaining("add attributes"), expect.stringContaining("begin project")] });
    expect(ranPrograms()).toBe("");
  });

  test.each(["ssh", "ext"])("what a partial clone would fetch missing commits with, by %s", async (protocol) => {
    const first = git(folder, "rev-parse", "HEAD");
    commitFile(folder, "b.txt", "second");
    git(folder, "config", "core.repositoryFormatVersion", "1");
    git(folder, "config", "extensions.partialClone", "origin");
    git(folder, "config", "remote.origin.url", protocol === "ssh" ? "ssh://example.invalid/project" : `ext::${program}`);
    git(folder, "config", "remote.origin.promisor", "true");
    git(folder, "config", "protocol.ext.allow", "always");
    git(folder, "config", "core.sshCommand", program);
    rmSync(join(folder, ".git", "objects", first.slice(0, 2), first.slice(2)));
    await look();
    await openFolderReader({ gitTimeoutMs: 30_000 }).repositoryAt(folder);
    expect(ranPrograms()).toBe("");
  });
});

describe("a git that does not answer", () => {
  beforeEach(() => {
    const silent = join(outside, "silent");
    mkdirSync(silent);
    // It does not end when it is asked to, either.
    writeFileSync(join(silent, "git"), "#!/bin/sh\ntrap '' TERM\nexec sleep 1000000\n");
    chmodSync(join(silent, "git"), 0o755);
    vi.stubEnv("PATH", `${silent}:${process.env.PATH}`);
    onTestFinished(() => void vi.unstubAllEnvs());
  });

  test("is not waited for", async () => {
    expect(await readRepositoryState(folder, gitEnvironment(), 50)).toEqual({ recentCommits: [] });
    const found = await openFolderReader({ gitTimeoutMs: 50 }).repositoryAt(folder);
    expect(found).toMatchObject({ branch: "main", commit: expect.stringMatching(/^[0-9a-f]{40}$/), rootCommit: undefined });
  });

  test("keeps no hook from saving, and what it saved is found when git answers again", async () => {
    const scope = openScope();
    const surroundings = { folder, home: outside, reader: openFolderReader({ gitTimeoutMs: 30_000 }) };
    expect(await runHook("pre-compact", {}, { scope, surroundings, gitEnvironment: gitEnvironment(), timeoutMs: 250 })).toBe("");
    vi.unstubAllEnvs();
    const workspace = await locateWorkspace(scope.store, surroundings);
    expect(workspace.foundBy).toMatchObject({ rootCommit: expect.any(String) });
    expect((await listEntries(scope, { workspace, limit: 10 })).entries).toMatchObject([
      { description: "Saved before the context was compacted on branch main.", tags: ["pre-compact"] },
    ]);
  });
});
