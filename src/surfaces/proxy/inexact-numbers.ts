const numberForm = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Returns the numbers in a JSON text that change when parsed, such as 12345678901234567890, in the order of the text.
 * Two calls that differ only in such numbers would otherwise look the same.
 */
export function inexactNumbersIn(json: string): readonly string[] {
  // A number with at most 15 digits and no exponent is always represented exactly.
  if (!/\d[\d.]{15}|\d[eE][+-]?\d/.test(json)) return [];
  const inexact: string[] = [];
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at] as string;
    if (char === '"') at = closingQuote(json, at);
    else if (char === "-" || (char >= "0" && char <= "9")) {
      numberForm.lastIndex = at;
      const text = numberForm.exec(json)?.[0] ?? char;
      if (!isExact(text)) inexact.push(text);
      at += text.length - 1;
    }
  }
  return inexact;
}

function closingQuote(json: string, opening: number): number {
  for (let at = opening + 1; at < json.length; at += 1) {
    if (json[at] === "\\") at += 1;
    else if (json[at] === '"') return at;
  }
  return json.length;
}

/** True if parsing and printing the number returns the same digits, in whatever notation. */
function isExact(text: string): boolean {
  const number = Number(text);
  return Number.isFinite(number) && digitsOf(text) === digitsOf(String(number));
}

/** The sign, the significant digits and the power of ten. */
function digitsOf(text: string): string {
  const [, sign = "", whole = "", part = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end);
  return significant === "" ? "0" : `${sign}${significant}e${Number(exponent) - part.length + digits.length - significant.length}`;
}
