/** The sections that Sage writes below a checkpoint's front matter, in this order. Any other heading is part of the surrounding text. */
const headings = ["Thesis", "Key Evidence", "Reasoning Trace", "Open Questions", "Sources", "Tensions", "Unique Contributions", "Code References"] as const;
type Heading = (typeof headings)[number];

/** Converts a checkpoint's body to the fields of Sage's YAML files. */
export function fieldsOfMarkdown(body: string): Readonly<Record<string, unknown>> {
  const { question, sections } = sectionsOf(body);
  const unread: string[] = [];
  const lines = <Field>(heading: Heading, parse: (item: string) => Field | undefined): readonly Field[] =>
    itemsOf(sections.get(heading)).flatMap((item) => {
      const field = parse(item);
      if (field === undefined) unread.push(`${heading}: ${item}`);
      return field === undefined ? [] : [field];
    });
  return {
    core_question: question,
    thesis: sections.get("Thesis") ?? "",
    key_evidence: itemsOf(sections.get("Key Evidence")),
    reasoning_trace: sections.get("Reasoning Trace") ?? "",
    open_questions: itemsOf(sections.get("Open Questions")),
    sources: lines("Sources", sourceOf),
    tensions: lines("Tensions", tensionOf),
    unique_contributions: lines("Unique Contributions", contributionOf),
    code_references: sections.get("Code References") ?? "",
    unread,
  };
}

function sectionsOf(body: string): { readonly question: string; readonly sections: ReadonlyMap<Heading, string> } {
  const texts = new Map<Heading | "question", string[]>([["question", []]]);
  let current: Heading | "question" = "question";
  let next = 0;
  for (const line of body.split("\n")) {
    const found = line.startsWith("## ") ? headings.findIndex((heading, i) => i >= next && heading === line.slice(3).trim()) : -1;
    if (found === -1) texts.get(current)?.push(line);
    else {
      current = headings[found] as Heading;
      next = found + 1;
      texts.set(current, []);
    }
  }
  const sections = new Map<Heading, string>();
  for (const [heading, lines] of texts) if (heading !== "question") sections.set(heading, lines.join("\n").trim());
  return { question: (texts.get("question") ?? []).join("\n").trim().replace(/^# /, "").trim(), sections };
}

/** Each line that begins with a dash starts an item; other lines continue the previous item. */
function itemsOf(section: string | undefined): readonly string[] {
  const items: string[] = [];
  for (const line of (section ?? "").split("\n")) {
    if (line.startsWith("- ")) items.push(line.slice(2));
    else if (items.length > 0) items[items.length - 1] += `\n${line}`;
    else if (line.trim() !== "") items.push(line);
  }
  return items.map((item) => item.trim());
}

/** `**id** (type): take — _relation_` */
function sourceOf(item: string): Readonly<Record<string, string>> | undefined {
  const head = boldHead(item);
  const close = head?.rest.indexOf("): ") ?? -1;
  if (head === undefined || !head.rest.startsWith(" (") || close === -1) return undefined;
  const { text, word } = lastWord(head.rest.slice(close + 3));
  return { id: head.bold, type: head.rest.slice(2, close), take: text, relation: word };
}

/** `**one** vs **other**: nature — _resolution_` */
function tensionOf(item: string): { readonly between: readonly string[]; readonly nature: string; readonly resolution: string } | undefined {
  const one = boldHead(item);
  const other = one?.rest.startsWith(" vs ") ? boldHead(one.rest.slice(4)) : undefined;
  if (one === undefined || other === undefined || !other.rest.startsWith(":")) return undefined;
  const { text, word } = lastWord(other.rest.slice(1).trimStart());
  return { between: [one.bold, other.bold], nature: text, resolution: word };
}

/** `**type**: content` */
function contributionOf(item: string): Readonly<Record<string, string>> | undefined {
  const head = boldHead(item);
  return head?.rest.startsWith(":") ? { type: head.bold, content: head.rest.slice(1).trim() } : undefined;
}

function boldHead(item: string): { readonly bold: string; readonly rest: string } | undefined {
  const end = item.startsWith("**") ? item.indexOf("**", 2) : -1;
  return end === -1 ? undefined : { bold: item.slice(2, end), rest: item.slice(end + 2) };
}

function lastWord(text: string): { readonly text: string; readonly word: string } {
  const start = text.lastIndexOf(" — _");
  return start === -1 || !text.endsWith("_") ? { text, word: "" } : { text: text.slice(0, start), word: text.slice(start + 4, -1) };
}
