import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Departure } from '../../../exam/http-server/exam.ts';
import { NODE_DEPARTURES } from '../../../exam/http-server/node-departures.ts';
import { UWS_DEPARTURES } from '../../../exam/http-server/uws-departures.ts';
import { repositoryRoot } from '../../../support/repository.ts';

const PAGE = readFileSync(join(repositoryRoot(), 'docs/http.md'), 'utf8');

/** The first column of the table under a heading. */
function documented(heading: string): string[] {
  const section = PAGE.split(/^## /m).find(text => text.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter(line => line.startsWith('| '));
  return rows.slice(2).map(row => row.split('|')[1].trim());
}

/** Limits that no case of the exam fails for: the RFCs allow them, or they show with answers of many megabytes only. */
const UNEXAMINED = ['Half-closed connections', 'Error pages', 'Many header fields', 'Unknown methods'];

for (const [heading, departures] of [
  ['What uws cannot do', UWS_DEPARTURES],
  ['What node does differently', NODE_DEPARTURES],
] as const) {
  t.test(`the table "${heading}" names what the exam knows of, and nothing else`, async t => {
    const examined = new Set((departures as readonly Departure[]).map(({ limit }) => limit));
    const rows = documented(heading);
    t.ok(rows.length > 0);
    t.strictSame([...examined].filter(limit => !rows.includes(limit)).sort(), [], 'departures without a row');
    const unshown = rows.filter(row => !examined.has(row) && !UNEXAMINED.includes(row));
    t.strictSame(unshown, [], 'rows without a departure');
  });
}
