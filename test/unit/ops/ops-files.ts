import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { repositoryRoot } from '../../support/repository.ts';

/** The text of a file below `ops`. */
export function opsText(path: string): string {
  return readFileSync(join(repositoryRoot(), 'ops', path), 'utf8');
}

/** The documents of a YAML file below `ops`. What they hold is for the test to say. */
// biome-ignore lint/suspicious/noExplicitAny: a manifest has no type here
export function yamlOf(path: string): any[] {
  return parseAllDocuments(opsText(path), { strict: true, uniqueKeys: true }).map(document => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}
