import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { DomainMapping } from '../../../src/mapping/domain-mapping.ts';
import { NOT_COUNTED } from '../../../src/mapping/mapping-counters.ts';
import { RequestMapper } from '../../../src/mapping/request-mapper.ts';
import type { DescribedRequest } from '../../../src/messages/described-request.ts';
import { RequestTable } from '../../../src/messages/request-table.ts';
import type { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { mapperOf } from '../../support/request-mapper.ts';
import { compiled } from '../rules/parse/rule-text.ts';

interface Call {
  readonly method?: string;
  /** What follows the name of the domain. */
  readonly path?: string;
  readonly query?: string;
  readonly peer?: string;
  readonly isBinary?: boolean;
  /** In their order; a value can be a list for a repeated header. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

function mappingOf(entries: string, more = ''): DomainMapping {
  const text = `domain: shop\nrequests: {descriptors: [[${entries}]]${more}}\ndescriptors: [{key: k}]\n`;
  return shopOf(mapperOf(compiled(text)));
}

function shopOf(mapper: RequestMapper): DomainMapping {
  const mapping = mapper.of('shop');
  if (mapping === null || mapping === 'no_rules') throw new Error('the domain maps no requests');
  return mapping;
}

/** The descriptors of a call as texts: `key=value,key=value`. */
function descriptorsOf(mapping: DomainMapping, call: Call): string[] {
  const { method = 'GET', path = '', query = '', peer = '10.0.0.9', isBinary = false, headers = {} } = call;
  const each = (field: (name: string, value: string) => void): void => {
    for (const [name, values] of Object.entries(headers))
      for (const value of [values].flat()) field(name, value);
  };
  mapping.request.readCall({ method, remoteAddress: peer, isBinary, each }, path, query);
  const writer = new ByteWriter(16);
  mapping.writeDomain(writer);
  return descriptorsIn(writer, mapping.writeDescriptors(writer, null));
}

/** The descriptors of an encoded request of the domain `shop`. */
function descriptorsIn(writer: ByteWriter, count: number): string[] {
  const table = new RequestTable();
  table.add(writer.view());
  t.equal(table.text(table.domainStart[0], table.domainEnd[0]), 'shop');
  t.equal(table.descriptorRows, count);
  return Array.from({ length: count }, (_, row) => {
    const entries = Array.from({ length: table.entryCount[row] }, (_, i) => table.firstEntry[row] + i);
    return entries
      .map(
        at =>
          `${table.text(table.keyStart[at], table.keyEnd[at])}=${table.text(table.valueStart[at], table.valueEnd[at])}`,
      )
      .join();
  });
}

/** The value of the only entry, `null` if the descriptor is left out. */
function valueFrom(source: string, call: Call): string | null {
  const [descriptor] = descriptorsOf(mappingOf(`{key: k, ${source}}`), call);
  return descriptor?.slice(2) ?? null;
}

t.test('a request has a value for each source', async t => {
  const call: Call = {
    path: '/api/orders',
    query: 'page=2&q=a+b',
    headers: {
      host: 'Shop.Example:8443',
      'x-user': 'ann',
      cookie: 'theme=dark; session="abc"',
      'x-forwarded-for': '6.6.6.6, 203.0.113.7',
    },
  };
  const cases: readonly (readonly [string, string | null])[] = [
    ['value: fixed', 'fixed'],
    ['method: true', 'GET'],
    ['host: true', 'shop.example'],
    ['path: true', '/api/orders'],
    ['path_segment: 2', 'orders'],
    ['path_segment: 3', null],
    ['query: page', '2'],
    ['query: q', 'a b'],
    ['query: missing', null],
    ['header: X-User', 'ann'],
    ['header: x-missing', null],
    ['header: x-missing, default: anybody', 'anybody'],
    ['cookie: session', 'abc'],
    ['cookie: sess', null],
    ['client_address: true', '203.0.113.7'],
  ];
  for (const [source, value] of cases) t.equal(valueFrom(source, call), value, source);
});

t.test('a proxy says what it was asked', async t => {
  const headers = {
    'x-forwarded-method': 'POST',
    'x-original-method': 'PUT',
    'x-forwarded-uri': '/forwarded?a=1',
    'x-original-uri': '/original',
    'x-forwarded-host': 'a.example',
    host: 'sluice',
  };
  const without = (...names: string[]): Call => ({
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name))),
  });
  t.equal(valueFrom('method: true', { headers }), 'POST');
  t.equal(valueFrom('method: true', without('x-forwarded-method')), 'PUT');
  t.equal(valueFrom('method: true', without('x-forwarded-method', 'x-original-method')), 'GET');
  t.equal(valueFrom('path: true', { headers, path: '/path' }), '/path');
  t.equal(valueFrom('path: true', { headers }), '/forwarded');
  t.equal(valueFrom('path: true', { path: '/path#a', query: 'b' }), '/path', 'a fragment is not of the path');
  t.equal(valueFrom('query: b', { path: '/path#a', query: 'b=1' }), null);
  t.equal(
    valueFrom('query: a', { headers, query: 'a=2' }),
    '1',
    'a query without a path is not of the request',
  );
  t.equal(valueFrom('path: true', without('x-forwarded-uri')), '/original');
  t.equal(valueFrom('path: true', without('x-forwarded-uri', 'x-original-uri')), null);
  t.equal(valueFrom('host: true', { headers }), 'a.example');
  t.equal(valueFrom('host: true', without('x-forwarded-host')), 'sluice');
  t.equal(
    valueFrom('method: true', { headers: { 'x-forwarded-method': ['GET', 'POST'] } }),
    'POST',
    'the proxy next to Sluice has the last word',
  );
});

t.test('a repeated header is joined, and the last address of all of them counts', async t => {
  t.equal(valueFrom('header: x-plan', { headers: { 'x-plan': ['gold', 'free'] } }), 'gold,free');
  t.equal(valueFrom('cookie: b', { headers: { cookie: ['a=1', 'b=2'] } }), '2');
  const headers = { 'x-forwarded-for': ['6.6.6.6', '203.0.113.7'] };
  t.equal(valueFrom('client_address: true', { headers }), '203.0.113.7');
});

t.test('a host has no port, no dot at its end and no capitals', async t => {
  for (const [host, value] of [
    ['SHOP.example', 'shop.example'],
    ['shop.example:443', 'shop.example'],
    ['shop.example.', 'shop.example'],
    ['shop.example.:80', 'shop.example'],
    ['shop.example:', 'shop.example'],
    ['[2001:DB8::1]:443', '[2001:db8::1]'],
    ['[2001:db8::1]', '[2001:db8::1]'],
  ])
    t.equal(valueFrom('host: true', { headers: { host } }), value, host);
});

t.test('a cookie has one spelling', async t => {
  for (const cookie of [
    'session=abc',
    'a=1;session=abc;b=2',
    'a=1;\tsession\t=\tabc\t; b=2',
    ' session = abc ',
    'session="abc"',
    'session=ab%63',
    'sessions=x; session_=x; session; session=abc; session=x',
  ])
    t.equal(valueFrom('cookie: session', { headers: { cookie } }), 'abc', cookie);
  t.equal(valueFrom('cookie: session', { headers: { cookie: 'session=a%zz+b%4' } }), 'a%zz+b%4');
  t.equal(valueFrom('cookie: session', { headers: { cookie: 'session' } }), null);
  t.equal(valueFrom('cookie: session', { headers: { cookie: 'session \t; x=1' } }), null);
});

t.test('of a header with one address that is repeated, the last one counts', async t => {
  const mapping = mappingOf('{key: k, client_address: true}', ', client_address: {header: x-real-ip}');
  t.same(descriptorsOf(mapping, { headers: { 'x-real-ip': ['6.6.6.6', '203.0.113.7'] } }), ['k=203.0.113.7']);
});

t.test('text beyond ASCII is UTF-8, as bytes or as characters', async t => {
  const bytes = Buffer.from('Zoë').toString('latin1');
  t.equal(valueFrom('header: x-user', { headers: { 'x-user': bytes }, isBinary: true }), 'Zoë');
  t.equal(valueFrom('header: x-user', { headers: { 'x-user': 'Zoë' } }), 'Zoë');
  t.equal(valueFrom('header: x-user', { headers: { 'x-user': 'Zo\xeb' }, isBinary: true }), 'Zo\ufffd');
  t.equal(valueFrom('path_segment: 1', { path: `/${bytes}`, isBinary: true }), 'Zoë');
  t.equal(valueFrom('query: q', { path: '/', query: `q=${bytes}`, isBinary: true }), 'Zoë');
});

t.test('a value is cut off after 1,024 characters', async t => {
  t.equal(valueFrom('header: x-user', { headers: { 'x-user': 'u'.repeat(5_000) } }), 'u'.repeat(1_024));
  t.equal(valueFrom('header: x-user', { headers: { 'x-user': 'ü'.repeat(5_000) } }), 'ü'.repeat(1_024));
});

t.test('a descriptor is left out if one of its entries has no value', async t => {
  const rules = compiled(`
domain: shop
requests:
  descriptors:
    - [{key: user, header: x-user}, {key: plan, header: x-plan, default: free}]
    - [{key: method, method: true}, {key: session, cookie: session}]
    - [{key: all, value: all}]
descriptors: [{key: k}]
`);
  const mapping = shopOf(mapperOf(rules));
  t.equal(mapping.descriptorCount, 3);
  t.same(descriptorsOf(mapping, { headers: { 'x-user': 'ann' } }), ['user=ann,plan=free', 'all=all']);
  const headers = { 'x-user': 'ann', 'x-plan': 'gold', cookie: 'session=1' };
  t.same(descriptorsOf(mapping, { headers }), ['user=ann,plan=gold', 'method=GET,session=1', 'all=all']);
  t.same(descriptorsOf(mapping, {}), ['all=all'], 'nothing of the request before is left');
});

t.test('without a trusted proxy, the address is that of the caller', async t => {
  const mapping = mappingOf('{key: k, client_address: true}', ', client_address: {trusted_proxies: 0}');
  const headers = { 'x-forwarded-for': '6.6.6.6' };
  t.same(descriptorsOf(mapping, { headers, peer: '203.0.113.7' }), ['k=203.0.113.7']);
});

t.test('domains have their mappings until the rules are replaced', async t => {
  const text = (domain: string): string =>
    `domain: ${domain}\nrequests: {descriptors: [[{key: k, value: v}]]}\ndescriptors: [{key: k}]\n`;
  let current: CompiledRules | null = null;
  const log = new KeepingLogger();
  const mapper = new RequestMapper({ rules: () => current, counters: NOT_COUNTED, clock: systemClock, log });
  t.equal(mapper.of('a'), 'no_rules');
  current = compiled(text('a'));
  const before = mapper.of('a');
  t.type(before, DomainMapping);
  t.equal(mapper.of('a'), before);
  t.equal(mapper.of('b'), null);
  current = compiled(text('b'));
  t.equal(mapper.of('a'), null);
  t.type(mapper.of('b'), DomainMapping);
  current = compiled('domain: a\ndescriptors: [{key: k}]\n');
  t.equal(mapper.of('a'), null, 'a domain without `requests`');
});

/** Maps a described request, and returns its descriptors, or what has become of it. */
async function described(rules: string, request: Partial<DescribedRequest>): Promise<string[] | string> {
  const writer = new ByteWriter(16);
  let outcome = '';
  const whole = { method: '', host: '', target: '', clientAddress: '', headers: [], ...request };
  const mapper = mapperOf(compiled(`${rules}\ndescriptors: [{key: k}]\n`));
  const rest = Buffer.from([10, 4, ...Buffer.from('shop'), 24, 5]);
  writer.copy(rest, 0, rest.length);
  const mapping = mapper.writeDescribed({ domain: 'shop', request: whole }, writer, how => {
    outcome = how;
  });
  writer.length = outcome === '' ? 0 : writer.length;
  await mapping;
  if (outcome !== 'mapped') return outcome;
  const table = new RequestTable();
  table.add(writer.view());
  t.equal(table.requestHits[0], 5, 'the rest of the request is kept');
  return descriptorsIn(writer, table.descriptorRows);
}

t.test('a described request is mapped like one of a proxy', async t => {
  const rules = `domain: shop
requests:
  descriptors:
    - [{key: m, method: true}, {key: h, host: true}, {key: p, path: true}, {key: q, query: q}]
    - [{key: a, client_address: true}]
    - [{key: u, header: X-User}]`;
  const request = { method: 'PUT', host: 'Shop.example:1', target: '/a//b?q=1' };
  t.same(await described(rules, request), ['m=PUT,h=shop.example,p=/a/b,q=1']);
  const headers: DescribedRequest['headers'] = [
    ['X-USER', 'ann'],
    ['X-Forwarded-For', '6.6.6.6, 203.0.113.7'],
    ['X-Forwarded-Method', 'GET'],
    ['Host', 'other.example'],
  ];
  t.same(await described(rules, { ...request, headers }), [
    'm=PUT,h=shop.example,p=/a/b,q=1',
    'a=203.0.113.7',
    'u=ann',
  ]);
  t.same(await described(rules, { clientAddress: '[2001:DB8::1]:5', headers }), ['a=2001:db8::1', 'u=ann']);
  t.equal(await described(rules, {}), 'allowed');
  t.equal(await described('domain: shop', request), 'no_mapping');
});

t.test('a described request waits for the check of its token', async t => {
  const rules = `domain: shop
requests:
  token: {jwks_file: /missing/keys.json}
  descriptors: [[{key: u, claim: sub, default: anybody}]]`;
  const headers: DescribedRequest['headers'] = [['authorization', 'Bearer eyJhIjoxfQ.eyJhIjoxfQ.abc']];
  t.same(await described(rules, { headers }), ['u=anybody']);
});
