import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Mapping } from '../../../../../src/stats/sinks/prometheus/mapping.ts';
import {
  ADDED_MAPPINGS,
  defaultMappings,
} from '../../../../../src/stats/sinks/prometheus/mappings/default-mappings.ts';
import { repositoryRoot } from '../../../../support/repository.ts';

const PAGE = readFileSync(join(repositoryRoot(), 'docs/statistics.md'), 'utf8');

/** Cells of the rows of docs/statistics.md that begin with the name of a metric, without their backticks. */
const ROWS = PAGE.split('\n')
  .map(line => line.split(/(?<!\\)\|/).map(cell => cell.trim().replaceAll('`', '').replaceAll('\\|', '|')))
  .filter(([, first = '']) => /^(sluice|ratelimit|runtime|certs)_\w+$/.test(first))
  .map(cells => cells.slice(1, -1));

function typeOf({ kind, observer, onlyGrows }: Mapping): string {
  if (onlyGrows) return 'counter';
  return kind === 'observer' ? observer.type : (kind ?? 'counter');
}

/** The name of the statistic, with what becomes a label in capitals. */
function statisticOf({ match, labels }: Mapping): string | null {
  if ('pattern' in match) return null;
  let star = 0;
  const parts = match.glob.map(part => (part === '*' ? (labels[star++]?.[0] ?? '').toUpperCase() : part));
  return parts.join('.');
}

t.test(
  'every metric with a name of its own is in the table, with its type, labels, statistic and help',
  async t => {
    for (const mapping of ADDED_MAPPINGS.filter(({ name }) => !name.includes('$'))) {
      const statistic = statisticOf(mapping);
      const row = ROWS.find(
        ([name, , , shown]) => name === mapping.name && (statistic === null || shown === statistic),
      );
      const labels = mapping.labels.map(([name]) => name).join(', ');
      t.same(row?.slice(0, 3), [mapping.name, typeOf(mapping), labels], mapping.name);
      t.equal(row?.[4], mapping.help, mapping.name);
    }
  },
);

t.test('the table has no metrics that do not exist', async t => {
  const names = new Set(defaultMappings('seconds').list.map(({ name }) => name));
  const named = ROWS.filter(row => row.length === 5).map(([name]) => name);
  t.ok(named.length > 50);
  t.same(
    named.filter(name => name.startsWith('sluice_') && !names.has(name)),
    ['sluice_build_info'],
  );
});

t.test('every old name is in the table of old names', async t => {
  for (const { name, formerly } of ADDED_MAPPINGS.filter(mapping => mapping.formerly !== '')) {
    const old = formerly.replace(/\$.1./, 'SINK');
    t.ok(
      ROWS.some(row => row.length === 2 && row[0] === name && row[1] === old),
      `${name}: ${old}`,
    );
  }
});
