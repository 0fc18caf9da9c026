import t, { type Test } from 'tap';
import { askOverGrpc, askOverHttp, getPage, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { promtoolSays, WITHOUT_PROMTOOL } from '../support/promtool.ts';
import { QuotaClient } from '../support/quota/quota-client.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const RULES = `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: b
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
    descriptors:
      - key: c
        shadow_mode: true
        rate_limit: {unit: day, requests_per_unit: 2}
`;

/** Reads the value of a sample by its name, and its labels if there are any. */
function sampleReader(text: string): (sample: string) => number | undefined {
  return sample => {
    const line = text.split('\n').find(each => each.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length));
  };
}

async function started(t: Test): Promise<ServiceProcess> {
  return await serviceFor(t, {
    env: {
      RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
      RUNTIME_WATCH_ROOT: 'false',
      SERVE_THREADS: '2',
      HTTP_SERVER_ENGINE: 'node',
      USE_PULLSTATS: 'true',
      PULLSTATS_ADDR: '127.0.0.1:0',
    },
  });
}

async function metricsOf(service: ServiceProcess): Promise<string> {
  const line = await service.logged(each => each['@message'] === 'Metrics server listening');
  return (await getPage(String(line['address']), '/metrics')).text;
}

t.test('the page of Prometheus shows what the service has done', async t => {
  const service = await started(t);
  const grpc = grpcTo(t, service.grpc);
  for (let asked = 0; asked < 4; asked++) {
    await askOverGrpc(grpc, request('d', 'a=x'));
    await askOverGrpc(grpc, request('d', 'b=x,c=y'));
  }
  await t.rejects(askOverGrpc(grpc, request('', 'a=x')));
  const allowed = { domain: 'd', descriptors: [{ entries: [{ key: 'free', value: 'x' }] }] };
  t.equal((await askOverHttp(service.http, allowed)).status, 200);
  const text = await metricsOf(service);
  const value = sampleReader(text);
  t.equal(value('sluice_rules_last_load_successful'), 1);
  const sinceLoadS = Date.now() / 1_000 - Number(value('sluice_rules_last_success_timestamp_seconds'));
  t.ok(sinceLoadS > 0 && sinceLoadS < 60, 'rules were loaded just now');
  t.equal(value('sluice_http_requests_total{code="200",route="json"}'), 1);
  t.equal(value('sluice_http_requests_total{code="429",route="json"}'), 0);
  t.equal(value('sluice_http_request_duration_seconds_count{route="json"}'), 1);
  t.equal(value('sluice_batch_requests_count'), 10, 'calls that follow each other are not in one batch');
  t.equal(value('sluice_queue_requests'), 0);
  t.equal(value('sluice_queue_limit_requests'), 65_536);
  const measured = Number(value('sluice_store_call_duration_seconds_count{outcome="ok",store="embedded"}'));
  t.ok(measured >= 1 && measured <= 8);
  for (const thread of ['primary', 'serving'])
    t.ok(Number(value(`sluice_event_loop_delay_seconds_count{thread="${thread}"}`)) > 0, thread);
  t.type(value('sluice_gc_duration_seconds_count{kind="major",thread="primary"}'), 'number');
  for (const type of ['redis_error', 'service_error'])
    t.match(text, new RegExp(`ratelimit_service_should_rate_limit_error\\{[^}]*err_type="${type}"`));
  if (WITHOUT_PROMTOOL !== false) return t.pass(WITHOUT_PROMTOOL);
  t.same(promtoolSays(text), [], 'promtool accepts the page');
});

t.test('and what proxies have reported and were granted', async t => {
  const service = await started(t);
  const proxies = Array.from({ length: 3 }, () => new QuotaClient(t, service.grpc, 'd'));
  for (const proxy of proxies) {
    t.match(await proxy.report({ entries: [] }, { entries: [['b', 'x']], allowed: 2, denied: 1 }), [
      { kind: 'abandon' },
    ]);
    t.match(await proxy.next(), [{ bucket: 'b=x', kind: 'allow_all' }]);
  }
  const value = sampleReader(await metricsOf(service));
  t.equal(value('sluice_quota_streams'), 3, 'those of all threads');
  const buckets = Number(value('sluice_quota_buckets'));
  t.ok(buckets === 1 || buckets === 2, 'one for each thread that has it');
  t.equal(value('sluice_quota_reports_total'), 6);
  t.equal(value('sluice_quota_rejected_reports_total'), 3);
  t.equal(value('sluice_quota_requests_total{decision="allowed"}'), 6);
  t.equal(value('sluice_quota_requests_total{decision="denied"}'), 3);
  t.equal(value('sluice_quota_assignments_total'), 3);
  t.equal(value('sluice_quota_exhausted_assignments_total'), 0);
  for (const cause of ['store', 'late'])
    t.equal(value(`sluice_quota_failed_rounds_total{cause="${cause}"}`), 0);
});
