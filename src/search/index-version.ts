/**
 * How texts become terms, as a number. Raise it with every change to the tokenizer, the stems or the weights that are stored: what was indexed before is then
 * indexed anew in the background (domain/findable/reindex.ts), and is found by its old terms until then.
 */
export const indexVersion: number = 1;
