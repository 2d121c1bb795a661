/**
 * Options before a git command that keep it from taking locks and from starting programs that a repository's own configuration names. A folder can bring
 * any configuration with it, so what is not named here must not be reachable by the commands that are run: no fetch, no checkout, and a diff only with `--no-ext-diff --no-textconv`.
 */
export const safeGitOptions: readonly string[] = [
  "--no-optional-locks",
  "--no-pager",
  ...[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    // A partial clone fetches what it lacks, through whatever the configuration names: nothing is fetched here.
    "core.sshCommand=false",
    "core.gitProxy=false",
    "protocol.allow=never",
    ...["ext", "file", "git", "http", "https", "ssh"].map((name) => `protocol.${name}.allow=never`),
  ].flatMap((setting) => ["-c", setting]),
];

/** Asks for the names of all settings of filters, of every file that counts, each followed by a NUL. Git answers 1 where there are none. */
export const listFilters: readonly string[] = ["config", "--includes", "-z", "--name-only", "--get-regexp", "^filter\\."];

/**
 * Options that take the programs away from filters, which `git status` runs on changed files. Newer versions of git can do without attributes; this works on all.
 * Undefined: a name cannot be written as an option, so that nothing must be run.
 */
export function withoutFilters(listed: string): readonly string[] | undefined {
  const names = new Set(listed.split("\0").flatMap((name) => (name === "" ? [] : [name.slice("filter.".length, Math.max("filter.".length, name.lastIndexOf(".")))])));
  if (names.size > filtersMax || [...names].some((name) => /[=\n]/.test(name))) return undefined;
  return [...names].flatMap((name) => [`filter.${name}.clean=`, `filter.${name}.process=`, `filter.${name}.required=false`].flatMap((setting) => ["-c", setting]));
}

const filtersMax = 100;
