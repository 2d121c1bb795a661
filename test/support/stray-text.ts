/** What must not be in the repository, written so that this file does not find itself. */
const strays: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: "path of one machine", pattern: new RegExp(String.raw`(?<![\w.~-])/(?:ro${""}ot|work|ho${""}me/(?!user/|someone/)\w+|Us${""}ers/\w+)/`) },
  { what: "registry address", pattern: new RegExp(`registry\\.npm${""}js|py${""}pi\\.org|python${""}hosted|"resol${""}ved": "`) },
  { what: "something left to do", pattern: new RegExp(`\\b(?:TO${""}DO|FIX${""}ME|X${""}XX)\\b`) },
  { what: "numbered report", pattern: /(?:^|[\s(])(?:issue |fixes |closes |see )#\d+/i },
];

/** One line per finding: `path:line what`. */
export function strayTextIn(path: string, text: string): string[] {
  if (text.includes("\0")) return [];
  return text.split("\n").flatMap((line, i) => strays.filter(({ pattern }) => pattern.test(line)).map(({ what }) => `${path}:${i + 1} ${what}: ${line.trim().slice(0, 120)}`));
}
