import { estimateTokens } from "../../kernel/tokens.ts";
import type { Revision } from "../../store/store.ts";
import { quoteMark } from "../stored-text.ts";

/** Something to tell: its lines go in together or not at all. */
export interface PackItem {
  /** Which count it belongs to. */
  readonly counts: string;
  /** Each line is one line, already marked where it is stored text. */
  readonly lines: readonly string[];
  readonly revision: Revision;
  /** Items with the same name are one text, in order: where one does not fit, those after it are left out as well. */
  readonly text?: string;
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
 * an item that does not fit is left out and a smaller one still tried, but a text is never left out in its middle: it ends with a mark where it was cut.
 * Every line ends with the revision it stands for.
 */
export function makePack(head: readonly string[], sections: readonly PackSection[], revision: Revision, tokensMax: number): Pack {
  const lead = head.map((line) => cited(line, revision)).join("");
  const chosen = sections.map(() => new Set<PackItem>());
  let left = bytesFor(tokensMax) - Buffer.byteLength(lead);
  const fill = (limitOf: (section: PackSection) => number): void => {
    for (const [i, section] of sections.entries()) {
      const taken = chosen[i] as Set<PackItem>;
      let allowed = Math.min(left, limitOf(section));
      const cut = new Set<string>();
      for (const [at, item] of section.items.entries()) {
        if (taken.has(item) || (item.text !== undefined && cut.has(item.text))) continue;
        // The first line of a longer text pays for the mark that it may need.
        const isOpening = item.text !== undefined && section.items[at - 1]?.text !== item.text && section.items[at + 1]?.text === item.text;
        const cost = Buffer.byteLength(itemText(item) + (taken.size === 0 ? titleText(section) : "") + (isOpening ? cutText(item) : ""));
        if (cost > allowed) {
          if (item.text !== undefined) cut.add(item.text);
          continue;
        }
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
        const taken = chosen[i] as ReadonlySet<PackItem>;
        const isCutAfter = (item: PackItem, at: number): boolean => {
          const next = section.items[at + 1];
          return item.text !== undefined && next?.text === item.text && !taken.has(next);
        };
        const lines = section.items.map((item, at) => (taken.has(item) ? itemText(item) + (isCutAfter(item, at) ? cutText(item) : "") : ""));
        return taken.size === 0 ? "" : titleText(section) + lines.join("");
      })
      .join("");
  const items = chosen.flatMap((taken) => [...taken]);
  const shown: Record<string, number> = {};
  for (const { counts } of items) shown[counts] = (shown[counts] ?? 0) + 1;
  return { text, tokens: estimateTokens(text), shown, omitted: sections.reduce((sum, section) => sum + section.items.length, 0) - items.length };
}

const itemText = ({ lines, revision }: PackItem): string => lines.map((line) => cited(line, revision)).join("");
const cutText = ({ revision }: PackItem): string => cited(`${quoteMark}…`, revision);
const titleText = ({ title, revision }: PackSection): string => cited(`## ${title}`, revision);
/** Of the estimate's own measure: four bytes a token. */
const bytesFor = (tokens: number): number => tokens * 4;
