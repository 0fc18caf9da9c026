import t from 'tap';
import { askOverGrpc, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const THREADS = 2;
/** Clients that ask all the time. Enough for each thread to have one in nearly all runs. */
const CLIENTS = 6;
const RELOADS = 60;
const LIMIT = 1_000_000;

const rules = (limit: number): string =>
  `domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: ${limit}}\n`;

t.test(`${RELOADS} reloads under load: no thread uses older rules, and no call fails`, async t => {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': rules(LIMIT) });
  const env = { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false', SERVE_THREADS: String(THREADS) };
  const service = await serviceFor(t, { env });
  /** The number of the reload that is known to be active; null at the end. */
  let active: number | null = 0;
  let answered = 0;
  const behind: string[] = [];
  const callers = Array.from({ length: CLIENTS }, async () => {
    const client = grpcTo(t, service.grpc);
    for (let atLeast = active; atLeast !== null; atLeast = active) {
      const { statuses } = await askOverGrpc(client, request('d', 'a=x'));
      const used = statuses[0].currentLimit!.requestsPerUnit - LIMIT;
      if (used < atLeast) behind.push(`rules ${used} after ${atLeast} were loaded`);
      answered++;
    }
  });
  const loads = () => service.logs.filter(line => line['@message'] === 'Rules loaded').length;
  for (let reload = 1; reload <= RELOADS; reload++) {
    writeRules(root, { 'config/rules.yaml': rules(LIMIT + reload) });
    await service.logged(() => loads() > reload);
    active = reload;
  }
  active = null;
  await Promise.all(callers);
  t.same(behind, []);
  t.ok(answered > RELOADS, `${answered} calls`);
});
