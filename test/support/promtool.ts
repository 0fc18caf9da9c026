import { spawnSync } from 'node:child_process';
import { missing } from './tools.ts';

/** Why tests with promtool are skipped; false if it is there. */
export const WITHOUT_PROMTOOL = missing('promtool', 'prometheus');

/**
 * What `promtool check metrics` says about a page: that it cannot be read, that help texts are missing, and the style of
 * names. The names of envoyproxy/ratelimit and the deprecated names are what they are, so their style is left out.
 *
 * @param page needs `promtool`; see {@link WITHOUT_PROMTOOL}
 */
export function promtoolSays(page: string): string[] {
  const { status, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
    input: page,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  const lines = stderr.split('\n').filter(line => line !== '');
  const isStyle = (line: string): boolean => /^[a-z]\w* (counter metrics|metric names) should /i.test(line);
  const isOurs = (line: string): boolean => /^(sluice|process)_/.test(line);
  // The status is 1 if the page cannot be read, and 3 for everything else.
  return [...(status === 1 ? ['not read'] : []), ...lines.filter(line => !isStyle(line) || isOurs(line))];
}
