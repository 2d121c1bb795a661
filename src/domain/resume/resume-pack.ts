import { estimateTokens } from "../../kernel/tokens.ts";
import type { Revision } from "../../store/store.ts";

/** Something to tell: its lines go in together or not at all. */
export interface PackItem {
  /** Which count it belongs to. */
  readonly counts: string;
  /** Each line is one line, already marked where it is stored text. */
  readonly lines: readonly string[];
  readonly revision: Revision;
}
export interface PackSection {
  readonly title: string;
  readonly revision: Revision;
  /** The part of the budget it may take before the others had their turn. */
  readonly share: number;
  /** The most telling first. */
  readonly items: readonly PackItem[];
}
export interface Pack {
  readonly text: string;
  readonly tokens: number;
  readonly shown: Readonly<Record<string, number>>;
  /** Items that did not fit. */
  readonly omitted: number;
}

const cited = (line: string, revision: Revision): string => `${line} [r${revision}]\n`;

/**
 * What fits into a number of tokens. Every section gets its share first, in the order given, then the rest goes round in the same order;
 * an item that does not fit is left out and a smaller one still tried. Every line ends with the revision it stands for.
 */
export function makePack(head: readonly string[], sections: readonly PackSection[], revision: Revision, tokensMax: number): Pack {
  const lead = head.map((line) => cited(line, revision)).join("");
  const chosen = sections.map(() => new Set<PackItem>());
  let left = bytesFor(tokensMax) - Buffer.byteLength(lead);
  const fill = (limitOf: (section: PackSection) => number): void => {
    for (const [i, section] of sections.entries()) {
      const taken = chosen[i] as Set<PackItem>;
      let allowed = Math.min(left, limitOf(section));
      for (const item of section.items) {
        if (taken.has(item)) continue;
        const cost = Buffer.byteLength(itemText(item)) + (taken.size === 0 ? Buffer.byteLength(titleText(section)) : 0);
        if (cost > allowed) continue;
        taken.add(item);
        allowed -= cost;
        left -= cost;
      }
    }
  };
  const budget = left;
  fill(({ share }) => Math.floor(budget * share));
  fill(() => left);
  const text =
    lead +
    sections
      .map((section, i) => {
        const items = section.items.filter((item) => chosen[i]?.has(item));
        return items.length === 0 ? "" : titleText(section) + items.map(itemText).join("");
      })
      .join("");
  const items = chosen.flatMap((taken) => [...taken]);
  const shown: Record<string, number> = {};
  for (const { counts } of items) shown[counts] = (shown[counts] ?? 0) + 1;
  return { text, tokens: estimateTokens(text), shown, omitted: sections.reduce((sum, section) => sum + section.items.length, 0) - items.length };
}

const itemText = ({ lines, revision }: PackItem): string => lines.map((line) => cited(line, revision)).join("");
const titleText = ({ title, revision }: PackSection): string => cited(`## ${title}`, revision);
/** Of the estimate's own measure: four bytes a token. */
const bytesFor = (tokens: number): number => tokens * 4;
