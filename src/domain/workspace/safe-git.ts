/**
 * Options for git commands that prevent locks and keep git from starting programs named in the repository's
 * configuration. A folder can bring any configuration with it, so commands must not reach settings that are missing
 * here: no fetch, no checkout, and a diff only with `--no-ext-diff` and `--no-textconv`.
 */
export const safeGitOptions: readonly string[] = [
  "--no-optional-locks",
  "--no-pager",
  ...[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    // A partial clone fetches missing objects through any command its configuration names. Fetching is disabled here.
    "core.sshCommand=false",
    "core.gitProxy=false",
    "protocol.allow=never",
    ...["ext", "file", "git", "http", "https", "ssh"].map((name) => `protocol.${name}.allow=never`),
  ].flatMap((setting) => ["-c", setting]),
];

/** Lists the names of all filter settings from every configuration file, each followed by a NUL. Git exits with 1 if there are none. */
export const listFilters: readonly string[] = ["config", "--includes", "-z", "--name-only", "--get-regexp", "^filter\\."];

/**
 * Options that disable the filter programs that `git status` runs on changed files. Newer versions of git can ignore attributes; this works with
 * all versions. Undefined: too many filters, or a filter's name cannot be written as an option, so git must not be run.
 */
export function withoutFilters(listed: string): readonly string[] | undefined {
  const names = new Set(listed.split("\0").flatMap((name) => (name === "" ? [] : [name.slice("filter.".length, Math.max("filter.".length, name.lastIndexOf(".")))])));
  if (names.size > filtersMax || [...names].some((name) => /[=\n]/.test(name))) return undefined;
  return [...names].flatMap((name) => [`filter.${name}.clean=`, `filter.${name}.process=`, `filter.${name}.required=false`].flatMap((setting) => ["-c", setting]));
}

const filtersMax = 100;
