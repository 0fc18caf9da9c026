import { join } from 'node:path';
import t from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { callOperator } from '../support/operator-service.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
`;
/** The same limit at another line and with another number. */
const EDITED = `# edited
domain: shop
descriptors:
  - key: first
    rate_limit: {unit: day, requests_per_unit: 9}
  - key: user
    rate_limit: {unit: year, requests_per_unit: 3}
`;

const ASKED = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

interface Point {
  readonly hits: number;
  readonly refused: number;
}

function hitsOf(points: readonly Point[]): number {
  return points.reduce((sum, { hits }) => sum + hits, 0);
}

function refusedOf(points: readonly Point[]): number {
  return points.reduce((sum, { refused }) => sum + refused, 0);
}

for (const env of [{ SERVE_THREADS: '1' }, { SERVE_THREADS: '2', HTTP_SERVER_ENGINE: 'node' }]) {
  t.test(
    `the history of a limit continues after its rules were edited, with ${env.SERVE_THREADS} serving thread(s)`,
    async t => {
      const root = writeRules(tempDirectory(t), { 'config/shop.yaml': RULES });
      const service = await serviceFor(t, {
        env: { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false', ...env },
      });
      const get = async (path: string) => (await callOperator(service, 'GET', path)).json;
      const file = join(root, 'config', 'shop.yaml');

      const first = await get('/limits/0');
      t.same(first.place, { file, line: 3 });
      t.equal(
        first.definition,
        'domain: shop\ndescriptors:\n  - key: user\n    rate_limit:\n      unit: year\n      requests_per_unit: 2\n',
      );
      for (let i = 0; i < 5; i++) await askOverHttp(service.http, ASKED);
      await until(async () => hitsOf((await get('/limits/0')).history.points) === 5);
      t.equal(refusedOf((await get('/limits/0')).history.points), 3);

      writeRules(root, { 'config/shop.yaml': EDITED });
      await until(async () => (await get('/limits?q=shop.first')).total === 1);
      const edited = await get('/limits/1');
      t.match(edited, { path: 'shop.user', place: { file, line: 6 }, requests_per_unit: 3 });
      t.match(edited.definition, /requests_per_unit: 3\n$/);
      t.equal(hitsOf(edited.history.points), 5);
      t.equal(
        edited.spark.reduce((sum: number, hits: number) => sum + hits, 0),
        5,
      );

      await askOverHttp(service.http, ASKED);
      await until(async () => hitsOf((await get('/limits/1')).history.points) === 6);
      const { points, limits, rest } = await get('/rates?by=limit');
      t.match(limits, [{ number: 1, path: 'shop.user' }]);
      t.equal(refusedOf(limits[0].points), 4);
      t.equal(hitsOf(points), 6);
      t.equal(hitsOf(rest.points), 0);
    },
  );
}
