import type { Note } from "./note.ts";

const titleCharactersMax = 120;

/** The note's first heading or line, shortened. */
export function noteTitle({ content, id }: Pick<Note, "content" | "id">): string {
  const line = content.split(/\r?\n/, 50).find((each) => each.trim() !== "");
  const title = (line ?? id).replace(/^#{1,6}\s+/, "").trim();
  return title.length > titleCharactersMax ? `${title.slice(0, titleCharactersMax).toWellFormed()}…` : title;
}
