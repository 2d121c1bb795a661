/**
 * The version of the rules that turn texts into terms. Raise it with every change to the tokenizer, the stems or the stored weights. Texts indexed before are then
 * indexed again in the background (domain/findable/reindex.ts), and are found by their old terms until then.
 */
export const indexVersion: number = 1;
