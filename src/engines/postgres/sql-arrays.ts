/**
 * Texts of PostgreSQL arrays, to give one statement the columns of many rows. The driver can make them too, but looks twice through every element
 * for what needs escaping; here most pass with one look.
 */
export function textArray(items: readonly (string | null | undefined)[]): string {
  let text = "{";
  for (let i = 0; i < items.length; i += 1) {
    if (i > 0) text += ",";
    const item = items[i];
    if (item === null || item === undefined) text += "NULL";
    else text += `"${/["\\]/.test(item) ? item.replace(/["\\]/g, "\\$&") : item}"`;
  }
  return `${text}}`;
}

export function numberArray(items: readonly (number | null | undefined)[]): string {
  let text = "{";
  for (let i = 0; i < items.length; i += 1) text += (i > 0 ? "," : "") + (items[i] ?? "NULL");
  return `${text}}`;
}
