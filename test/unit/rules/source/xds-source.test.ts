import { status } from '@grpc/grpc-js';
import t from 'tap';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { AdsServer } from '../../../support/ads-server.ts';
import { each } from '../../../support/each.ts';
import { CONFIG_TYPE_URL, encodeConfig, hourly } from '../../../support/xds-messages.ts';
import { startXds, startXdsPair } from './started-xds.ts';

t.test('the first request asks for all rules and says who asks', async t => {
  const { ads } = await startXdsPair(t, { node: { id: 'edge-7', metadata: { region: 'eu' } } });
  t.match(await ads.request(), {
    version_info: '',
    node: { id: 'edge-7', metadata: { fields: { region: { stringValue: 'eu' } } } },
    resource_names: [],
    type_url: CONFIG_TYPE_URL,
    response_nonce: '',
    error_detail: null,
  });
});

t.test('additional headers come with the stream; bytes where the name says so', async t => {
  const headers = [
    ['authorization', 'Bearer x'],
    ['key-bin', 'ab'],
  ] as const;
  const { ads } = await startXdsPair(t, { headers });
  const { metadata } = await ads.stream();
  t.same(metadata.get('authorization'), ['Bearer x']);
  t.same(metadata.get('key-bin'), [Buffer.from('ab')]);
});

t.test('active rules are acknowledged with version and nonce of the response, without an error', async t => {
  const { ads, loader } = await startXdsPair(t);
  await ads.request();
  const stream = await ads.stream();
  stream.send('v1', hourly('shop', 'user', 5), hourly('api', 'path', 9));
  t.match(await ads.request(), { version_info: 'v1', response_nonce: 'nonce-v1', error_detail: null });
  const { domains } = loadRuleSet(loader.sets[0], { mergeDomains: false });
  t.same(each(domains, 'name'), ['shop', 'api']);
});

t.test('a rejection names every fault and keeps the active version', async t => {
  const { ads, loader } = await startXdsPair(t);
  await ads.request();
  const stream = await ads.stream();
  stream.send('v1', hourly('shop', 'user', 5));
  await ads.request();
  loader.answer = () => ({ kind: 'refused', reasons: ['shop-limits: shop.user: bad', 'another'] });
  stream.send('v2', hourly('shop', 'user', 6));
  t.match(await ads.request(), {
    version_info: 'v1',
    response_nonce: 'nonce-v2',
    error_detail: { code: 3, message: 'shop-limits: shop.user: bad\nanother' },
  });
  loader.answer = () => ({ kind: 'active' });
  stream.send('v3', hourly('shop', 'user', 7));
  t.match(await ads.request(), { version_info: 'v3', response_nonce: 'nonce-v3', error_detail: null });
});

t.test('a refused version that is sent again at once is refused again after growing waits', async t => {
  const { ads, loader, clock } = await startXdsPair(t);
  await ads.request();
  loader.answer = () => ({ kind: 'refused', reasons: ['bad'] });
  const stream = await ads.stream();
  stream.send('v1', hourly('shop', 'user', 5));
  t.match(await ads.request(), { error_detail: { message: 'bad' } }, 'the first time at once');
  for (const waitMs of [1_000, 2_000, 4_000, 4_000]) {
    stream.send('v1', hourly('shop', 'user', 5));
    await clock.pass(waitMs);
    t.match(await ads.request(), { response_nonce: 'nonce-v1', error_detail: { message: 'bad' } });
  }
  stream.send('v2', hourly('shop', 'user', 6));
  t.match(await ads.request(), { error_detail: { message: 'bad' } }, 'another version at once');
  stream.send('v2', hourly('shop', 'user', 6));
  await clock.pass(1_000);
  await ads.request();
  loader.answer = () => ({ kind: 'active' });
  stream.send('v3', hourly('shop', 'user', 7));
  t.match(await ads.request(), { version_info: 'v3', error_detail: null });
});

t.test('a stop ends the wait before a repeated refusal', async t => {
  const { ads, loader, clock, source } = await startXdsPair(t);
  await ads.request();
  loader.answer = () => ({ kind: 'refused', reasons: ['bad'] });
  const stream = await ads.stream();
  stream.send('v1');
  await ads.request();
  stream.send('v1');
  await clock.awaited(1_000);
  await source.stop();
  t.pass('it has stopped');
});

t.test('the text of a refusal has a bound', async t => {
  const { ads, loader } = await startXdsPair(t);
  await ads.request();
  loader.answer = () => ({ kind: 'refused', reasons: ['x'.repeat(100_000)] });
  (await ads.stream()).send('v1');
  t.equal((await ads.request()).error_detail?.message.length, 8_192);
});

t.test('resources of another type are refused with their place', async t => {
  const { ads, loader } = await startXdsPair(t);
  await ads.request();
  const good = { type_url: CONFIG_TYPE_URL, value: encodeConfig(hourly('shop', 'user', 5)) };
  const other = { type_url: 'type.googleapis.com/x.Y', value: Buffer.of(1) };
  const head = { version_info: 'v1', nonce: 'n', type_url: CONFIG_TYPE_URL };
  (await ads.stream()).sendRaw({ ...head, resources: [good, other] });
  const reason = `resources[1]: the type is "type.googleapis.com/x.Y", and only ${CONFIG_TYPE_URL} is accepted`;
  t.match(await ads.request(), { version_info: '', response_nonce: 'n', error_detail: { message: reason } });
  t.same(loader.refusals, [[reason]]);
  t.same(loader.sets, []);
});

t.test('a response about other resources says nothing about the rules', async t => {
  const { ads, loader, logger } = await startXdsPair(t);
  await ads.request();
  const stream = await ads.stream();
  stream.sendRaw({ version_info: 'v1', nonce: 'n', type_url: 'type.googleapis.com/x.Y', resources: [] });
  stream.send('v2', hourly('shop', 'user', 5));
  t.match(await ads.request(), { version_info: 'v2', response_nonce: 'nonce-v2' });
  t.equal(loader.sets.length, 1);
  t.same(logger.messages('warning'), ['Ignored resources of another type from the xDS server']);
});

t.test('responses that come at once are dealt with one after the other', async t => {
  const { ads, loader } = await startXdsPair(t);
  await ads.request();
  const stream = await ads.stream();
  const first = Promise.withResolvers<void>();
  const came = Promise.withResolvers<void>();
  loader.answer = async () => {
    came.resolve();
    await first.promise;
    return { kind: 'active' };
  };
  for (const version of ['v1', 'v2', 'v3']) stream.send(version);
  await came.promise;
  t.equal(loader.sets.length, 1);
  first.resolve();
  for (const version of ['v1', 'v2', 'v3']) t.match(await ads.request(), { version_info: version });
  t.equal(loader.sets.length, 3);
});

t.test('after a lost stream the last accepted version is announced, not one that was refused', async t => {
  const { ads, loader, clock, logger } = await startXdsPair(t);
  await ads.request();
  const stream = await ads.stream();
  stream.send('v1', hourly('shop', 'user', 5));
  await ads.request();
  loader.answer = () => ({ kind: 'refused', reasons: ['bad'] });
  stream.send('v2');
  await ads.request();
  stream.end();
  await clock.pass(10_000);
  t.match(await ads.request(), { version_info: 'v1', response_nonce: '', error_detail: null });
  t.match(logger.lines.slice(-4), [
    {
      level: 'debug',
      message: 'The xDS stream ended',
      fields: { address: ads.address, reason: 'the server ended the stream', retryInMs: 10_000 },
    },
    { level: 'error', message: 'xDS server unavailable; the rules loaded before stay active' },
    { level: 'info', message: 'Connected to the xDS server' },
    { level: 'error', message: 'xDS server available again', fields: { address: ads.address, seconds: 10 } },
  ]);
});

t.test('delays after lost streams grow up to their maximum, and restart after a response', async t => {
  const { ads, clock } = await startXdsPair(t);
  for (const waitMs of [10_000, 15_000, 22_500, 33_750, 50_625, 60_000, 60_000]) {
    await ads.request();
    (await ads.stream()).fail(status.ABORTED, 'go away');
    await clock.pass(waitMs);
  }
  await ads.request();
  const stream = await ads.stream();
  stream.send('v1');
  await ads.request();
  stream.end();
  await clock.pass(10_000);
  t.match(await ads.request(), { version_info: 'v1' });
});

t.test('the reason why a stream ended is logged', async t => {
  const { ads, clock, logger } = await startXdsPair(t);
  await ads.request();
  (await ads.stream()).fail(status.PERMISSION_DENIED, 'no such node');
  await clock.pass(10_000);
  t.match(logger.lines.find(line => line.level === 'error')?.fields, {
    reason: 'PERMISSION_DENIED: no such node',
  });
});

t.test('a message beyond the bound ends the stream with the name of the setting', async t => {
  const { ads, clock, logger, loader } = await startXdsPair(t, { maxMessageBytes: 1_000 });
  await ads.request();
  (await ads.stream()).send('v1', { domain: 'x'.repeat(2_000) });
  await clock.pass(10_000);
  t.match(logger.lines.find(line => line.level === 'error')?.fields, {
    reason: /^RESOURCE_EXHAUSTED: .*raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES$/,
  });
  t.same(loader.sets, []);
});

t.test('a server that cannot be reached is tried again at the interval for that', async t => {
  const gone = await AdsServer.start(t);
  gone.stop();
  const { clock, logger } = await startXds(t, gone.address, { connectRetryMs: 1_234 });
  for (let tries = 0; tries < 3; tries++) await clock.pass(1_234);
  const ads = await AdsServer.start(t, { port: gone.port });
  // An attempt that was under way may have failed just before.
  void clock.pass(1_234);
  t.match(await ads.request(), { version_info: '' });
  t.same(logger.messages('error'), [
    'xDS server unavailable; its rules are missing until it answers',
    'xDS server available again',
  ]);
  t.match(logger.lines[0], {
    level: 'debug',
    message: 'Could not connect to the xDS server',
    fields: { address: gone.address, reason: /^UNAVAILABLE: .*ECONNREFUSED/, retryInMs: 1_234 },
  });
});

t.test('a server that is killed and comes back is asked again, and the rules stay meanwhile', async t => {
  const { ads, clock, loader } = await startXdsPair(t);
  await ads.request();
  (await ads.stream()).send('v1', hourly('shop', 'user', 5));
  await ads.request();
  ads.stop();
  await clock.pass(10_000);
  await clock.pass(3_000);
  t.equal(loader.sets.length, 1, 'nothing was handed on while it was away');
  const again = await AdsServer.start(t, { port: ads.port });
  void clock.pass(3_000);
  t.match(await again.request(), { version_info: 'v1', response_nonce: '' });
  (await again.stream()).send('v2', hourly('shop', 'user', 6));
  t.match(await again.request(), { version_info: 'v2', response_nonce: 'nonce-v2' });
});
