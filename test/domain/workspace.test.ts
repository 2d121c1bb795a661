import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { knownWorkspaceRanges, rememberWorkspace } from "../../src/domain/workspace/known-workspaces.ts";
import { openFolderReader } from "../../src/domain/workspace/repository-reader.ts";
import type { Workspace } from "../../src/domain/workspace/workspace.ts";
import { locateWorkspace, noWorkspaceId } from "../../src/domain/workspace/workspace.ts";
import { commitFile, createRepository, git } from "../support/git-repository.ts";
import { openScope } from "../support/scope.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const reader = openFolderReader();
const { store } = openScope();
const elsewhere = "/nowhere/at/all";
const guess = (folder: string, home = elsewhere): Promise<Workspace> => locateWorkspace(store, { folder, home, reader });
const scratch = async (): Promise<string> => realpath(await temporaryFolder());

describe("a workspace is its repository", () => {
  test("seen from its top, from a folder inside, through a link and from inside .git", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    mkdirSync(join(repository, "src", "deep"), { recursive: true });
    symlinkSync(repository, join(at, "shortcut"));
    const seen = await Promise.all([repository, join(repository, "src", "deep"), join(at, "shortcut"), join(repository, ".git", "refs")].map((folder) => guess(folder)));
    expect(new Set(seen.map(({ id }) => id)).size).toBe(1);
    expect(seen.map(({ name }) => name)).toEqual(["engine", "engine", "engine", "engine"]);
  });

  test("its worktrees are the same one, each with its own branch, under the main folder's name", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    git(repository, "worktree", "add", "-q", "-b", "topic", join(at, "engine-topic"));
    const [main, tree] = await Promise.all([guess(repository), guess(join(at, "engine-topic"))]);
    expect(tree).toMatchObject({ id: main.id, name: "engine", branch: "topic" });
    expect(main.branch).toBe("main");
  });

  test("a clone and its worktree are the same one too", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    git(at, "clone", "-q", repository, "copy");
    git(join(at, "copy"), "worktree", "add", "-q", "-b", "topic", join(at, "copy-topic"));
    const [original, tree] = await Promise.all([guess(repository), guess(join(at, "copy-topic"))]);
    expect(tree.id).toBe(original.id);
  });

  test("a namesake with another history is another one", async () => {
    const at = await scratch();
    const [one, other] = await Promise.all([guess(createRepository(join(at, "a"), "api", "one")), guess(createRepository(join(at, "b"), "api", "two"))]);
    expect(one.name).toBe(other.name);
    expect(one.id).not.toBe(other.id);
  });

  test("it stays itself when its folder is renamed and when it continues", async () => {
    const at = await scratch();
    const repository = createRepository(at, "before");
    const before = await guess(repository);
    renameSync(repository, join(at, "after"));
    commitFile(join(at, "after"), "more", "go on");
    expect(await locateWorkspace(store, { folder: join(at, "after"), home: elsewhere, reader: openFolderReader() })).toMatchObject({ id: before.id, name: "after" });
  });

  test("a branch without common history does not make it another one, nor does a library merged in", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    const { id } = await guess(repository);
    git(repository, "switch", "-q", "--orphan", "pages");
    commitFile(repository, "index.html", "pages");
    const fresh = { folder: repository, home: elsewhere, reader: openFolderReader() };
    expect(await locateWorkspace(store, fresh)).toMatchObject({ id, branch: "pages" });
    const library = createRepository(at, "library");
    git(repository, "switch", "-q", "main");
    git(repository, "fetch", "-q", library, "main");
    git(repository, "merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "take the library in", "FETCH_HEAD");
    expect((await locateWorkspace(store, { ...fresh, reader: openFolderReader() })).id).toBe(id);
    expect((await guess(library)).id).not.toBe(id);
  });

  test("before its first commit it is known by its place, and that place is still read afterwards", async () => {
    const at = await scratch();
    mkdirSync(join(at, "young"));
    const folder = await guess(join(at, "young"));
    git(join(at, "young"), "init", "-q");
    const empty = await guess(join(at, "young"));
    expect(empty).toMatchObject({ name: "young", branch: "main", commit: undefined });
    commitFile(join(at, "young"), "a", "first");
    const grown = await guess(join(at, "young"));
    expect(new Set([folder.id, empty.id, grown.id]).size).toBe(3);
    expect(grown.formerIds).toEqual(expect.arrayContaining([folder.id, empty.id]));
  });

  test("a submodule is a repository of its own, a bare one is named without its ending", async () => {
    const at = await scratch();
    const library = createRepository(at, "library");
    const repository = createRepository(at, "engine");
    git(repository, "submodule", "--quiet", "add", library, "vendor/lib");
    const submodule = await guess(join(repository, "vendor", "lib"));
    expect(submodule).toMatchObject({ name: "lib", id: (await guess(library)).id });
    expect(submodule.id).not.toBe((await guess(repository)).id);
    git(at, "clone", "-q", "--bare", library, "shared.git");
    git(join(at, "shared.git"), "worktree", "add", "-q", join(at, "tree"), "main");
    expect(await guess(join(at, "shared.git"))).toMatchObject({ name: "shared", id: submodule.id });
    expect(await guess(join(at, "tree"))).toMatchObject({ name: "shared", id: submodule.id });
  });

  test("a shallow clone is known by its place: where it was cut says nothing", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    commitFile(repository, "b", "second");
    git(at, "clone", "-q", "--depth", "1", `file://${repository}`, "shallow");
    const shallow = await guess(join(at, "shallow"));
    expect(shallow).toMatchObject({ name: "shallow", branch: "main" });
    git(join(at, "shallow"), "fetch", "-q", "--unshallow");
    const whole = await locateWorkspace(store, { folder: join(at, "shallow"), home: elsewhere, reader: openFolderReader() });
    expect(whole.id).toBe((await guess(repository)).id);
    expect(whole.formerIds).toContain(shallow.id);
  });
});

describe("where its history began", () => {
  const fresh = (used: typeof store, folder: string): Promise<Workspace> => locateWorkspace(used, { folder, home: elsewhere, reader: openFolderReader() });
  const remember = async ({ store: used, writer }: ReturnType<typeof openScope>, workspace: Workspace): Promise<number> => {
    const writes = rememberWorkspace(await used.read(knownWorkspaceRanges(workspace)), workspace);
    if (writes.length > 0) await used.commit({ writes, writer });
    return writes.length;
  };
  afterEach(() => void vi.unstubAllEnvs());

  test("is remembered with the first entry, and no later process needs git to know it", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    const scope = openScope();
    const asked = await fresh(scope.store, repository);
    expect(await remember(scope, asked)).toBe(3);
    vi.stubEnv("PATH", at);
    expect(await fresh(scope.store, repository)).toEqual(asked);
    expect(await remember(scope, await fresh(scope.store, repository))).toBe(0);
    // Without the memory there is only the place to go by: git was really out of reach.
    expect(asked.formerIds).toContain((await fresh(openScope().store, repository)).id);
  });

  test("is requested again where another repository has taken the place", async () => {
    const at = await scratch();
    const scope = openScope();
    const before = await fresh(scope.store, createRepository(at, "engine", "one"));
    await remember(scope, before);
    renameSync(join(at, "engine"), join(at, "old"));
    const repository = createRepository(at, "engine", "two");
    const after = await fresh(scope.store, repository);
    expect(after.id).not.toBe(before.id);
    expect(after.id).toBe((await fresh(openScope().store, repository)).id);
  });

  test("is not asked for again for a day when git could not tell", async () => {
    const at = await scratch();
    const repository = createRepository(at, "engine");
    const scope = openScope();
    vi.stubEnv("PATH", at);
    const place = await fresh(scope.store, repository);
    await remember(scope, place);
    vi.unstubAllEnvs();
    expect((await fresh(scope.store, repository)).id).toBe(place.id);
    scope.clock.advance(86_400_001);
    const found = await fresh(scope.store, repository);
    expect(found.formerIds).toContain(place.id);
    expect(await remember(scope, found)).toBe(3);
  });
});

describe("branch and commit", () => {
  test("of a branch with slashes, packed away", async () => {
    const repository = createRepository(await scratch(), "engine");
    git(repository, "switch", "-q", "-c", "feature/deep/one");
    const commit = commitFile(repository, "b", "second");
    git(repository, "pack-refs", "--all");
    expect(await guess(repository)).toMatchObject({ branch: "feature/deep/one", commit });
  });

  test("detached there is a commit and no branch; in the middle of a rebase the branch is the one being moved", async () => {
    const repository = createRepository(await scratch(), "engine");
    git(repository, "switch", "-q", "-c", "topic");
    commitFile(repository, "README", "ours");
    git(repository, "switch", "-q", "main");
    const main = commitFile(repository, "README", "theirs");
    git(repository, "switch", "-q", "--detach");
    expect(await guess(repository)).toMatchObject({ branch: undefined, commit: main });
    git(repository, "switch", "-q", "topic");
    expect(() => git(repository, "rebase", "main")).toThrow();
    expect(await guess(repository)).toMatchObject({ branch: "topic", commit: main });
  });

  test("broken git files are no repository and no crash", async () => {
    const at = await scratch();
    for (const [name, content] of [
      ["empty", ""],
      ["loop", "gitdir: ."],
      ["gone", "gitdir: ../nowhere"],
      ["noise", "\u0000\u0001"],
    ] as const) {
      mkdirSync(join(at, name));
      writeFileSync(join(at, name, ".git"), content);
      expect(await guess(join(at, name)), name).toEqual({ id: expect.any(String), name, formerIds: [] });
    }
    const repository = createRepository(at, "odd");
    writeFileSync(join(repository, ".git", "HEAD"), "ref: ../../../../etc/passwd\n");
    expect(await guess(repository)).toMatchObject({ name: "odd", commit: undefined });
  });
});

describe("without a repository", () => {
  test("it is the folder; the same name elsewhere is another", async () => {
    const at = await scratch();
    for (const parent of ["a", "b"]) mkdirSync(join(at, parent, "notes"), { recursive: true });
    const [one, other] = await Promise.all([guess(join(at, "a", "notes")), guess(join(at, "b", "notes"))]);
    expect([one.name, other.name]).toEqual(["notes", "notes"]);
    expect(one.id).not.toBe(other.id);
  });

  test("the home folder and the root are never taken by guess, also where the home folder is a repository", async () => {
    const at = await scratch();
    const home = createRepository(at, "home");
    mkdirSync(join(home, "plain"));
    for (const folder of [home, "/"]) expect(await guess(folder, home)).toMatchObject({ id: noWorkspaceId, hint: expect.stringContaining("pass workspace") });
    const inside = await guess(join(home, "plain"), home);
    expect(inside).toEqual({ id: expect.any(String), name: "plain", formerIds: [] });
    // Asked for by name it is a place like any other.
    expect(await locateWorkspace(store, { folder: home, home, reader }, home)).toMatchObject({ name: "home", branch: "main" });
    expect(await locateWorkspace(store, { folder: "/", home, reader }, "~")).toMatchObject({ name: "home", branch: "main" });
  });

  test("a server that knows no folder has none, and takes a folder's text as it is without looking", async () => {
    expect(await locateWorkspace(store, undefined)).toMatchObject({ id: noWorkspaceId });
    const given = await locateWorkspace(store, undefined, "C:\\code\\engine\\");
    expect(given).toEqual({ id: expect.any(String), name: "engine", formerIds: [] });
    expect((await locateWorkspace(store, undefined, "C:/code/engine")).id).toBe(given.id);
  });
});

describe("a workspace by name", () => {
  const remember = async ({ store: used, writer }: ReturnType<typeof openScope>, workspace: { id: string; name: string }): Promise<void> => {
    await used.commit({ writes: rememberWorkspace(await used.read(knownWorkspaceRanges(workspace)), workspace), writer });
  };

  test("finds the one something was saved in, also under its former name, or by its id", async () => {
    const scope = openScope();
    await remember(scope, { id: "ws-0123456789abcdef", name: "before" });
    await remember(scope, { id: "ws-0123456789abcdef", name: "after" });
    for (const given of ["before", "after", "ws-0123456789abcdef"]) expect((await locateWorkspace(scope.store, undefined, given)).id).toBe("ws-0123456789abcdef");
    expect((await locateWorkspace(scope.store, undefined, "unheard-of")).name).toBe("unheard-of");
    await expect(locateWorkspace(scope.store, undefined, "ws-ffffffffffffffff")).rejects.toMatchObject({ code: "not_found" });
  });

  test("two of one name are ambiguous, and the error names both; the one worked in goes first", async () => {
    const scope = openScope();
    const repository = createRepository(await scratch(), "api");
    const here = await guess(repository);
    await remember(scope, { id: "ws-0000000000000001", name: "api" });
    await remember(scope, { id: "ws-0000000000000002", name: "api" });
    await expect(locateWorkspace(scope.store, undefined, "api")).rejects.toMatchObject({
      code: "ambiguous",
      details: {
        candidates: [
          { id: "ws-0000000000000001", name: "api" },
          { id: "ws-0000000000000002", name: "api" },
        ],
      },
    });
    expect((await locateWorkspace(scope.store, { folder: repository, home: elsewhere, reader }, "api")).id).toBe(here.id);
  });

  test("a folder that does not exist is refused", async () => {
    await expect(locateWorkspace(store, { folder: "/", home: elsewhere, reader }, "./missing")).rejects.toMatchObject({ code: "invalid_input", details: { field: "workspace" } });
  });
});
