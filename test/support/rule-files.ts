import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Writes rule files into `directory`: names (with folders, if they have any) to texts.
 * Each appears whole, by a rename, so that a watcher never reads half of one. Returns the directory.
 */
export function writeRules(directory: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    // The name ends in neither .yaml nor .yml: no rule source takes the unfinished file for rules.
    const unfinished = `${path}.unfinished`;
    writeFileSync(unfinished, text);
    renameSync(unfinished, path);
  }
  return directory;
}
