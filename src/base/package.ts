import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder of the package: the nearest one above this file with a package.json. Sources and build lie at different
 * depths, so it is searched upwards.
 *
 * @throws Error if it is not found
 */
export function packageFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
  }
  throw new Error(`no package.json in ${import.meta.dirname} or any folder above it: reinstall the package`);
}

/**
 * The version of Sluice, from its package.json.
 *
 * @throws Error if there is no package.json
 */
export function packageVersion(): string {
  const text = readFileSync(join(packageFolder(), 'package.json'), 'utf8');
  return String((JSON.parse(text) as { version?: unknown }).version);
}
