/** A metric name with all its samples. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** For parts of a histogram: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
}

/** The Prometheus text format, version 0.0.4, which every scraper reads. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

export function exposition(families: readonly Family[]): string {
  let text = "";
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    for (const { suffix = "", labels, value } of samples) text += `${name}${suffix}${labelText(labels)} ${numberText(value)}\n`;
  }
  return text;
}

const labelText = (labels: Sample["labels"]): string => (labels.length === 0 ? "" : `{${labels.map(([name, value]) => `${name}="${escapeLabel(value)}"`).join(",")}}`);

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}
