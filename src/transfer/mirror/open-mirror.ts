import type { Mirror } from "../../domain/mirror/mirror.ts";
import { checkpointToYaml } from "./checkpoint-file.ts";
import { fileNameOf } from "./file-name.ts";
import { writeMirrorFile } from "./mirror-folder.ts";
import { noteToMarkdown } from "./note-file.ts";

export interface MirrorFolders {
  readonly checkpointDir: string;
  readonly knowledgeDir: string;
  /** Files of the default namespace are directly in the folders, those of other namespaces in a subfolder each. */
  readonly namespace: string;
}

export const defaultNamespace = "default";

/** `checkpoints/2026-01-10T23-45-00_slug.yaml`, `knowledge/limits.md`, `knowledge/@shipping/limits.md`; for the namespace team: `checkpoints/@@team/…`. */
export function openMirror({ checkpointDir, knowledgeDir, namespace }: MirrorFolders): Mirror {
  const below = namespace === defaultNamespace ? [] : [`@@${fileNameOf(namespace)}`];
  return {
    checkpoint: (checkpoint) => writeMirrorFile(checkpointDir, below, `${checkpoint.id}.yaml`, checkpointToYaml(checkpoint)),
    note: (note) => writeMirrorFile(knowledgeDir, note.skill === undefined ? below : [...below, `@${fileNameOf(note.skill)}`], `${fileNameOf(note.id)}.md`, noteToMarkdown(note)),
  };
}
