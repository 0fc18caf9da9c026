import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { WITHOUT_PROMTOOL } from '../../support/promtool.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { outputOf } from '../../support/tools.ts';
import { anchorsOf } from '../repository/links.ts';
import { listedMetrics, opsText, yamlOf } from './ops-files.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

const ALERTS: readonly Alert[] = yamlOf('prometheus/alerts.yaml')[0].groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
);
const FOLDER = join(repositoryRoot(), 'ops/prometheus');

t.test('promtool: the rules and the scrape configuration are valid', { skip: WITHOUT_PROMTOOL }, async t => {
  const output = await outputOf('promtool', ['check', 'rules', join(FOLDER, 'alerts.yaml')]);
  t.match(output, `SUCCESS: ${ALERTS.length} rules found`);
  t.match(await outputOf('promtool', ['check', 'config', join(FOLDER, 'scrape.yaml')]), /is valid/);
});

t.test(
  'promtool: each alert fires when it should, and not otherwise',
  { skip: WITHOUT_PROMTOOL },
  async t => {
    const output = await outputOf('promtool', ['test', 'rules', join(FOLDER, 'alerts.test.yaml')]);
    t.match(output, 'SUCCESS');
    t.notMatch(output, 'FAILED');
  },
);

t.test('each alert has a case in which it fires, and one in which it does not', async t => {
  const cases = yamlOf('prometheus/alerts.test.yaml')[0].tests.flatMap(
    (test: { promql_expr_test?: object[] }) => test.promql_expr_test ?? [],
  );
  for (const { alert } of ALERTS) {
    const ofAlert = cases.filter(({ expr }: { expr: string }) => expr.includes(`alertname="${alert}"`));
    const firing = ofAlert.filter((each: { exp_samples: object[] }) => each.exp_samples.length > 0);
    t.ok(firing.length > 0, `${alert} fires`);
    t.ok(firing.length < ofAlert.length, `${alert} does not fire`);
  }
});

t.test('each alert has a severity, texts, and a runbook that exists', async t => {
  for (const { alert, labels, annotations } of ALERTS) {
    t.match(alert, /^Sluice[A-Z]\w+$/);
    t.match(labels.severity, /^(page|ticket)$/, alert);
    t.match(annotations, { summary: /\S/, description: /\S.*\.$/ }, alert);
    const [path, anchor] = annotations['runbook_url'].split('#');
    t.ok(existsSync(join(repositoryRoot(), path)), path);
    t.ok(anchorsOf(readFileSync(join(repositoryRoot(), path), 'utf8')).has(anchor), `${path}#${anchor}`);
    t.equal(anchor, alert.toLowerCase(), 'the runbook is that of the alert');
  }
});

t.test('each runbook says what to look at and what to do, and has the severity of its alert', async t => {
  const page = readFileSync(join(repositoryRoot(), 'docs/operations.md'), 'utf8');
  const runbooks = new Map(
    [...page.matchAll(/^### (Sluice\w+)\n([\s\S]*?)(?=^##)/gm)].map(([, alert, text]) => [alert, text]),
  );
  t.same(
    [...runbooks.keys()],
    ALERTS.map(({ alert }) => alert),
    'in the order of the rules',
  );
  for (const { alert, labels } of ALERTS) {
    const text = runbooks.get(alert) ?? '';
    t.match(text, new RegExp(`^\\n_${labels.severity === 'page' ? 'Page' : 'Ticket'}\\._ `), alert);
    t.match(text, /\*\*Look at\*\* .*\n?[\s\S]*\*\*[Dd]o:?\*\*/, alert);
  }
});

t.test('alerts are not bound to the name of a job', async t => {
  for (const { alert, expr } of ALERTS) t.notMatch(expr, /job\s*=\s*"/, alert);
  t.notMatch(opsText('prometheus/alerts.yaml'), /instance\s*=~?\s*"/);
});

t.test('alerts use metrics of the list in docs/statistics.md', async t => {
  const listed = listedMetrics();
  for (const { alert, expr } of ALERTS) {
    const names = expr.match(/\b(?:ratelimit|sluice)_\w+/g) ?? [];
    for (const name of names)
      t.ok(listed.has(name.replace(/_(?:bucket|sum|count)$/, '')), `${alert}: ${name}`);
  }
});
