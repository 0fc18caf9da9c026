import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { type Panel, readDashboard } from '../../support/grafana-dashboard.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { listedMetrics } from './ops-files.ts';

const DASHBOARD = readDashboard();
const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');

/** Units of Grafana that the panels use. */
const UNITS = new Set(['none', 'short', 's', 'bytes', 'percentunit', 'reqps', 'ops']);

t.test('sluice.json is what `npm run dashboard` writes', async t => {
  const file = pathToFileURL(join(repositoryRoot(), 'ops/grafana/dashboard.mjs')).href;
  const { dashboard } = await import(file);
  t.same(DASHBOARD, JSON.parse(JSON.stringify(dashboard())));
});

t.test(
  'Grafana can import it: panels of known types with ids, titles, places, sources and queries',
  async t => {
    t.match(DASHBOARD, { uid: 'sluice-decisions', title: 'Sluice', schemaVersion: 39 });
    t.equal(new Set(DASHBOARD.panels.map(({ id }) => id)).size, DASHBOARD.panels.length);
    t.equal(new Set(DASHBOARD.panels.map(({ title }) => title)).size, DASHBOARD.panels.length);
    for (const { type, title, datasource, targets = [], fieldConfig } of PANELS) {
      t.match(type, /^(stat|timeseries)$/, title);
      t.same(datasource, { type: 'prometheus', uid: '$datasource' }, title);
      t.ok(targets.length > 0, title);
      t.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
      for (const { instant } of targets) t.equal(instant, type === 'stat', title);
      t.ok(UNITS.has(fieldConfig?.defaults.unit ?? ''), `unit of ${title}`);
      const legends = targets.map(({ legendFormat }) => legendFormat);
      for (const { matcher } of fieldConfig?.overrides ?? []) t.ok(legends.includes(matcher.options), title);
    }
  },
);

t.test('panels are inside the grid and do not overlap', async t => {
  const taken = new Map<string, string>();
  for (const { title, gridPos } of DASHBOARD.panels) {
    t.ok(gridPos.x >= 0 && gridPos.x + gridPos.w <= 24, title);
    for (const [x, y] of cells(gridPos)) {
      t.notOk(taken.get(`${x},${y}`), `${title} at ${x},${y}`);
      taken.set(`${x},${y}`, title);
    }
  }
});

t.test('the first screen answers twelve questions', async t => {
  const firstRow = DASHBOARD.panels.find(({ type }) => type === 'row');
  const first = PANELS.filter(({ gridPos }) => gridPos.y < Number(firstRow?.gridPos.y));
  t.equal(first.length, 12);
  for (const { title, description, gridPos } of first) {
    t.match(title, /\?$/);
    t.match(description, /\.$/, title);
    t.ok(gridPos.y + gridPos.h <= 21, 'a screen of 1080 pixels has room for 21 rows of the grid');
  }
});

t.test('docs/operations.md says for each question what to do if the answer is bad', async t => {
  const page = readFileSync(join(repositoryRoot(), 'docs/operations.md'), 'utf8');
  const table = page.match(/^\| Question \|.*\n\|.*\n((?:\|.*\n)+)/m)?.[1] ?? '';
  t.same(
    table.split('\n').map(row => row.split(' | ')[0].slice(2)),
    [...PANELS.slice(0, 12).map(({ title }) => title), ''],
  );
});

t.test('variables are those that the queries use, and those before them', async t => {
  const defined = DASHBOARD.templating.list.map(({ name }) => name);
  t.same(defined, ['datasource', 'job', 'instance', 'domain']);
  const used = new Set<string>();
  for (const { title, targets = [] } of PANELS) {
    for (const { expr } of targets) {
      for (const [, name] of expr.matchAll(/\$(\w+)/g)) used.add(name);
      t.match(expr, /job=~"\$job",instance=~"\$instance"/, title);
    }
  }
  t.same(used, new Set(['job', 'instance', 'domain', '__rate_interval']));
  DASHBOARD.templating.list.forEach(({ name, query }, index) => {
    const text = typeof query === 'string' ? query : query.query;
    for (const [, other] of text.matchAll(/\$(\w+)/g))
      t.ok(defined.indexOf(other) < index, `${name}: ${other}`);
  });
});

t.test('a quantile is labelled as what it is', async t => {
  let quantiles = 0;
  for (const { title, targets = [] } of PANELS) {
    for (const { expr, legendFormat } of targets) {
      const share = expr.match(/^histogram_quantile\(([\d.]+),/)?.[1];
      t.equal(
        legendFormat.match(/^p[\d.]+/)?.[0],
        share && `p${Number((Number(share) * 100).toFixed(1))}`,
        title,
      );
      if (share !== undefined) quantiles++;
    }
  }
  t.ok(quantiles > 10);
});

t.test('queries use metrics of the list in docs/statistics.md', async t => {
  const listed = listedMetrics();
  for (const { title, targets = [] } of PANELS) {
    for (const { expr } of targets) {
      const names = expr.match(/\b(?:ratelimit|sluice)_\w+/g) ?? [];
      for (const name of names)
        t.ok(listed.has(name.replace(/_(?:bucket|sum|count)$/, '')), `${title}: ${name}`);
    }
  }
});

function cells({ x, y, w, h }: Panel['gridPos']): [number, number][] {
  return Array.from({ length: w * h }, (_, index) => [x + (index % w), y + Math.floor(index / w)]);
}
