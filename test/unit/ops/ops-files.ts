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

/** The metrics that docs/statistics.md lists, also those of which it only shows how they end. */
export function listedMetrics(): ReadonlySet<string> {
  const page = readFileSync(join(repositoryRoot(), 'docs/statistics.md'), 'utf8');
  const names = new Set([...page.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name));
  const ofLimits = page.match(/`ratelimit_service_rate_limit_STAT` for ([^|]*)/)?.[1] ?? '';
  for (const [, name] of ofLimits.matchAll(/`(\w+)`/g)) names.add(`ratelimit_service_rate_limit_${name}`);
  // `ratelimit_service_config_load_success`, `…_error`
  for (const [, begin, end] of page.matchAll(/`(\w+)_[a-z]+`, `…(_\w+)`/g)) names.add(`${begin}${end}`);
  return names;
}
