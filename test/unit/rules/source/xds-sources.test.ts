import type { Test } from 'tap';
import t from 'tap';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import type {
  LoadOutcome,
  RuleFile,
  RuleSet,
  RuleSetLoader,
  RuleSetRefused,
} from '../../../../src/rules/rule-set.ts';
import { XdsSources } from '../../../../src/rules/source/xds-sources.ts';
import { AdsServer } from '../../../support/ads-server.ts';
import { WaitClock } from '../../../support/wait-clock.ts';
import { hourly } from '../../../support/xds-messages.ts';
import { xdsOptions } from './started-xds.ts';

/** Loads sets as the service does, and keeps the last one that had no fault. */
class CompilingLoader implements RuleSetLoader {
  readonly #mergeDomains: boolean;
  readonly refusals: (readonly string[])[] = [];
  loads = 0;
  failing = false;
  rules: RuleSet = { domains: [] };
  /** Loads wait for it. */
  ready: Promise<void> = Promise.resolve();
  #running = 0;

  constructor(mergeDomains: boolean) {
    this.#mergeDomains = mergeDomains;
  }

  get domains(): string[] {
    return this.rules.domains.map(({ name }) => name).sort();
  }

  async load(files: readonly RuleFile[]): Promise<LoadOutcome> {
    if (++this.#running > 1) throw new Error('two sets at once');
    this.loads++;
    await this.ready;
    this.#running--;
    if (this.failing) return { kind: 'failed', reasons: ['no memory left'] };
    try {
      this.rules = loadRuleSet(files, { mergeDomains: this.#mergeDomains });
      return { kind: 'active' };
    } catch (refused) {
      return { kind: 'refused', reasons: (refused as RuleSetRefused).message.split('\n') };
    }
  }

  refuse(reasons: readonly string[]): void {
    this.refusals.push(reasons);
  }
}

/** Sources that ask as many servers; all end with the test. */
async function startSources(t: Test, count: number, mergeDomains = false) {
  const servers = await Promise.all(Array.from({ length: count }, () => AdsServer.start(t)));
  const loader = new CompilingLoader(mergeDomains);
  const clock = new WaitClock(1_700_000_000_000);
  const options = servers.map(({ address }, i) => ({
    ...xdsOptions(address, clock),
    node: { id: `node-${i}`, metadata: {} },
  }));
  const sources = new XdsSources(options, loader, mergeDomains);
  t.teardown(() => sources.stop());
  await sources.start();
  const opened = servers.map(async server => {
    const first = await server.request();
    return { server, first, stream: await server.stream() };
  });
  return { loader, clock, asked: await Promise.all(opened) };
}

t.test('each server is asked by its own node id, and its rules join those of the others', async t => {
  const { loader, asked } = await startSources(t, 2);
  const [one, two] = asked;
  t.same(
    asked.map(({ first }) => first.node.id),
    ['node-0', 'node-1'],
  );
  two.stream.send('v7', hourly('quota', 'model', 9));
  t.match(await two.server.request(), { version_info: 'v7', response_nonce: 'nonce-v7', error_detail: null });
  t.same(loader.domains, ['quota'], 'before the first server has sent anything');
  one.stream.send('v1', hourly('shop', 'user', 5), hourly('api', 'path', 6));
  t.match(await one.server.request(), { version_info: 'v1', error_detail: null });
  t.same(loader.domains, ['api', 'quota', 'shop']);
  two.stream.send('v8');
  t.match(await two.server.request(), { version_info: 'v8', error_detail: null });
  t.same(loader.domains, ['api', 'shop'], 'a server without rules takes only its own away');
});

t.test('rules with a fault are refused on their own stream, and the others go on', async t => {
  const { loader, asked } = await startSources(t, 2);
  const [one, two] = asked;
  one.stream.send('v1', hourly('shop', 'user', 5));
  await one.server.request();
  two.stream.send('w1', hourly('quota', 'model', 9));
  await two.server.request();
  two.stream.send('w2', hourly('quota', '', 10));
  const refused = await two.server.request();
  t.match(refused, { version_info: 'w1', response_nonce: 'nonce-w2' });
  t.match(refused.error_detail?.message, `quota-limits (from ${two.server.address}): quota.descriptors[0]: `);
  one.stream.send('v2', hourly('shop', 'user', 6));
  t.match(await one.server.request(), { version_info: 'v2', error_detail: null });
  t.match(loader.rules.domains, [
    { name: 'quota', entries: [{ limits: [{ requestsPerUnit: 9 }] }] },
    { name: 'shop', entries: [{ limits: [{ requestsPerUnit: 6 }] }] },
  ]);
});

t.test('a domain of two servers is refused to the second one, which learns who has it', async t => {
  const { loader, asked } = await startSources(t, 2);
  const [one, two] = asked;
  two.stream.send('w1', hourly('shop', 'user', 9));
  t.match(await two.server.request(), { version_info: 'w1', error_detail: null });
  one.stream.send('v1', hourly('shop', 'path', 5));
  const refused = await one.server.request();
  t.match(refused, { version_info: '', response_nonce: 'nonce-v1' });
  t.equal(
    refused.error_detail?.message,
    `shop-limits (from ${one.server.address}): shop: the domain "shop" is already defined in ` +
      `shop-limits (from ${two.server.address}): give this one another name, move the entries there, ` +
      'or set MERGE_DOMAIN_CONFIG=true',
  );
  t.match(loader.rules.domains, [{ entries: [{ key: 'user' }] }]);
  two.stream.send('w2', hourly('quota', 'user', 9));
  await two.server.request();
  one.stream.send('v2', hourly('shop', 'path', 5));
  t.match(await one.server.request(), { version_info: 'v2', error_detail: null }, 'once the domain is free');
});

t.test('a refused set that is sent again is loaded once another server has changed its rules', async t => {
  const { loader, clock, asked } = await startSources(t, 2);
  const [one, two] = asked;
  two.stream.send('w1', hourly('shop', 'user', 9));
  await two.server.request();
  for (const waitMs of [0, 1_000, 2_000]) {
    one.stream.send('v1', hourly('shop', 'path', 5));
    if (waitMs > 0) await clock.pass(waitMs);
    t.match((await one.server.request()).error_detail?.message, /is already defined in/);
  }
  t.equal(loader.loads, 2);
  two.stream.send('w2', hourly('quota', 'user', 9));
  await two.server.request();
  one.stream.send('v1', hourly('shop', 'path', 5));
  await clock.pass(4_000);
  t.match(await one.server.request(), { version_info: 'v1', error_detail: null });
  t.same(loader.domains, ['quota', 'shop']);
});

t.test('a set that could not be tried is tried again when it is sent again', async t => {
  const { loader, clock, asked } = await startSources(t, 1);
  const [{ server, stream }] = asked;
  loader.failing = true;
  stream.send('v1', hourly('shop', 'path', 5));
  t.match(await server.request(), { version_info: '', error_detail: { message: 'no memory left' } });
  loader.failing = false;
  stream.send('v1', hourly('shop', 'path', 5));
  await clock.pass(1_000);
  t.match(await server.request(), { version_info: 'v1', error_detail: null });
});

t.test('a single server is not named in what is refused', async t => {
  const { asked } = await startSources(t, 1);
  const [{ server, stream }] = asked;
  stream.send('v1', hourly('quota', '', 10));
  t.match((await server.request()).error_detail?.message, /^quota-limits: quota\.descriptors\[0\]: /);
});

t.test('with merging, entries of one domain are in the order of the servers', async t => {
  const { loader, asked } = await startSources(t, 2, true);
  const [one, two] = asked;
  const keys = () => loader.rules.domains.map(({ entries }) => entries.map(({ key }) => key));
  two.stream.send('w1', hourly('shop', 'user', 9));
  await two.server.request();
  one.stream.send('v1', hourly('shop', 'path', 5));
  t.match(await one.server.request(), { version_info: 'v1', error_detail: null });
  t.same(keys(), [['path', 'user']]);
  two.stream.send('w2', hourly('shop', 'path', 9));
  t.match((await two.server.request()).error_detail?.message, /"path" is defined twice on this level/);
  t.same(keys(), [['path', 'user']]);
});

t.test('rules of a server that is away stay, also while another one sends new ones', async t => {
  const { loader, clock, asked } = await startSources(t, 2);
  const [one, two] = asked;
  one.stream.send('v1', hourly('shop', 'user', 5));
  await one.server.request();
  one.server.stop();
  await clock.pass(10_000);
  two.stream.send('w1', hourly('quota', 'model', 9));
  t.match(await two.server.request(), { version_info: 'w1', error_detail: null });
  t.same(loader.domains, ['quota', 'shop']);
});

t.test('sets that arrive at the same time are loaded one after the other, and each is answered', async t => {
  const { loader, asked } = await startSources(t, 4);
  const gate = Promise.withResolvers<void>();
  loader.ready = gate.promise;
  for (const [i, { stream }] of asked.entries()) stream.send('v1', hourly(`d${i}`, 'user', 5));
  gate.resolve();
  for (const { server } of asked) {
    t.match(await server.request(), { version_info: 'v1', error_detail: null });
  }
  t.equal(loader.loads, 4);
  t.same(loader.domains, ['d0', 'd1', 'd2', 'd3']);
});

t.test('what cannot even be tried is refused with the name of its server', async t => {
  const { loader, asked } = await startSources(t, 2);
  const [, two] = asked;
  const resources = [{ type_url: 'type.googleapis.com/x.Y', value: Buffer.of(1) }];
  const head = {
    version_info: 'w1',
    nonce: 'n',
    type_url: 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig',
  };
  two.stream.sendRaw({ ...head, resources });
  t.match(await two.server.request(), {
    version_info: '',
    error_detail: { message: /^resources\[0\]: the type/ },
  });
  t.match(loader.refusals, [[new RegExp(`^${two.server.address}: resources\\[0\\]: the type`)]]);
});

t.test('files for TLS that cannot be used stop the start of all of them', async t => {
  const ads = await AdsServer.start(t);
  const clock = new WaitClock(0);
  const tls = { caFile: '/none.pem', certFile: '', keyFile: '', serverName: '' };
  const options = [xdsOptions(ads.address, clock), { ...xdsOptions('localhost:1', clock), tls }];
  const sources = new XdsSources(options, new CompilingLoader(false), false);
  await t.rejects(sources.start(), /CONFIG_GRPC_XDS_SERVER_TLS_CACERT="\/none.pem" cannot be read/);
  // After the server has ended, a source that runs waits for its next attempt.
  const running = new WaitClock(0);
  const other = new XdsSources([xdsOptions(ads.address, running)], new CompilingLoader(false), false);
  t.teardown(() => Promise.all([sources.stop(), other.stop()]));
  await other.start();
  await ads.request();
  ads.stop();
  await running.awaited(10_000);
  t.equal(clock.pending, 0);
});
