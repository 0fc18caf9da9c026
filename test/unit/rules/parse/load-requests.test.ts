import t from 'tap';
import { compiled, load, refusal } from './rule-text.ts';

const file = (requests: string, domain = 'd'): string =>
  `domain: ${domain}\n${requests}\ndescriptors: [{key: k, rate_limit: {unit: hour, requests_per_unit: 1}}]\n`;

const entry = (text: string): string => file(`requests: {descriptors: [[${text}]]}`);

t.test('`requests` says how a request becomes descriptors', async t => {
  const [{ requests }] = load(
    file(`
requests:
  client_address: {trusted_proxies: 2, header: Forwarded}
  token: {jwks_file: /keys.json, issuer: https://id.example, audience: shop}
  on_failure: deny
  descriptors:
    - [{key: remote_address, client_address: true}]
    - [{key: method, method: true}, {key: route, path_segment: 1, default: none}]
    - [{key: user, claim: sub}, {key: plan, header: X-Plan, default: free}]
`),
  ).domains;
  t.strictSame(requests, {
    clientAddress: { header: 'forwarded', trustedProxies: 2 },
    token: {
      header: 'authorization',
      jwksFile: '/keys.json',
      jwksPath: '/keys.json',
      issuer: 'https://id.example',
      audience: 'shop',
    },
    onFailure: 'deny',
    descriptors: [
      [{ key: 'remote_address', source: 'client_address', of: '', fallback: '' }],
      [
        { key: 'method', source: 'method', of: '', fallback: '' },
        { key: 'route', source: 'path_segment', of: '1', fallback: 'none' },
      ],
      [
        { key: 'user', source: 'claim', of: 'sub', fallback: '' },
        { key: 'plan', source: 'header', of: 'x-plan', fallback: 'free' },
      ],
    ],
  });
});

t.test('by default, one proxy is trusted, and failures allow', async t => {
  const [{ requests }] = load(entry('{key: k, path: true}')).domains;
  t.match(requests, {
    clientAddress: { header: 'x-forwarded-for', trustedProxies: 1 },
    token: null,
    onFailure: 'allow',
  });
  for (const none of ['', 'requests:', 'requests: null'])
    t.equal(load(file(none)).domains[0].requests, undefined, none);
});

t.test('the compiled rules have what the file says', async t => {
  const rules = compiled(entry('{key: k, query: "ü"}'));
  t.same(
    [...rules.allRequests()].map(([domain, mapping]) => [domain, JSON.parse(mapping).descriptors]),
    [['d', [[{ key: 'k', source: 'query', of: 'ü', fallback: '' }]]]],
  );
  t.ok(rules.hasPolicyNames, 'answers have headers by default');
  const plain = compiled(file(''));
  t.same([...plain.allRequests()], []);
  t.notOk(plain.hasPolicyNames);
});

const SOURCES = 'value, method, host, path, path_segment, query, header, cookie, client_address, claim';

t.test('mistakes are named with their place', async t => {
  const cases: Readonly<Record<string, string>> = {
    'requests: []': '2:11: d: `requests` must be a map, not a list: indent its keys below it',
    'requests: {}':
      '2:11: d: `descriptors` of `requests` must be a list that is not empty: write `- [{key: user, header: x-user}]`',
    'requests: {descriptors: [{key: k}]}':
      '2:26: d: each item of `descriptors` of `requests` must be a list that is not empty: write `- [{key: user, header: x-user}]`',
    'requests: {descriptors: [[k]]}':
      '2:27: d: a descriptor may only hold maps, not k: write `{key: user, header: x-user}`',
    'requests: {on_failure: open, descriptors: [[{key: k, path: true}]]}':
      '2:24: d: `on_failure` must be `allow` or `deny`: write one of them',
    'requests: {client_address: {trusted_proxies: 99}, descriptors: [[{key: k, path: true}]]}':
      '2:46: d: `trusted_proxies` must be a whole number from 0 to 16, without quotes, not 99',
    'requests: {client_address: {header: x-real-ip, trusted_proxies: 1}, descriptors: [[{key: k, path: true}]]}':
      '2:65: d: `trusted_proxies` counts addresses in a list, and `x-real-ip` holds one address: remove it, or write `header: x-forwarded-for`',
    'requests: {headers: x, descriptors: [[{key: k, path: true}]]}':
      '2:12: d: unknown key `headers`; did you mean `header`? accepted here: descriptors, client_address, token, on_failure',
  };
  for (const [line, message] of Object.entries(cases))
    t.equal(refusal(file(line)), `rules.yaml:${message}`, line);
});

t.test('mistakes in an entry are named with their remedy', async t => {
  const cases: Readonly<Record<string, string>> = {
    '{path: true}': 'the entry has no key: write `key: ` and the name of the descriptor key',
    '{key: k}': `the entry does not say where its value is: write one of ${SOURCES}, such as \`header: x-user\`, \`path: true\` or \`client_address: true\``,
    '{key: k, path: false}': `the entry does not say where its value is: write one of ${SOURCES}, such as \`header: x-user\`, \`path: true\` or \`client_address: true\``,
    '{key: k, path: true, query: q}':
      'the entry has `path` and `query`, and its value can be one of them: remove the other',
    '{key: k, path: yes please}': '`path` must be true or false, without quotes, not yes please',
    '{key: k, path_segment: 0}': '`path_segment` must be a whole number from 1 to 32, without quotes, not 0',
    '{key: k, header: ":path"}': '":path" is not the name of a header: write `path: true`',
    '{key: k, header: "a b"}': '"a b" is not the name of a header: write its name without a colon',
    '{key: k, cookie: "a b"}': '"a b" is not the name of a cookie: write letters, digits, `-` or `_`',
    '{key: k, query: ""}': '`query` is empty: write a text, or remove the field',
    '{key: k, value: v, default: w}': 'a fixed `value` needs no `default`: remove one of them',
    '{key: k, claim: sub}':
      'a descriptor has a `claim`, and `requests` has no `token`: write `token: {jwks_file: /path/of/keys.json}`, or `token: {read_only: true}` if the proxy has checked the token',
    [`{key: k, value: ${'v'.repeat(1_025)}}`]: '`value` has more than 1024 characters: write a shorter text',
  };
  for (const [text, message] of Object.entries(cases)) {
    const fault = refusal(entry(text));
    t.match(fault, /^rules\.yaml:2:\d+: d: /, text);
    t.equal(fault.replace(/^rules\.yaml:\d+:\d+: d: /, ''), message, text);
  }
});

t.test('a token is checked or only read', async t => {
  const token = (text: string): string =>
    file(`requests: {token: ${text}, descriptors: [[{key: k, claim: sub}]]}`);
  t.match(load(token('{read_only: true, header: X-Token}')).domains[0].requests?.token, {
    header: 'x-token',
    jwksFile: '',
  });
  t.match(
    refusal(token('{issuer: i}')),
    '`token` does not say how tokens are checked: write `jwks_file: ` and the path of the keys, or `read_only: true`',
  );
  t.match(
    refusal(token('{read_only: true, issuer: i}')),
    'a token that is only read is not checked: remove `read_only`, or `jwks_file`, `issuer` and `audience`',
  );
});

t.test('of several files of a domain, one may have `requests`', async t => {
  const block = 'requests: {descriptors: [[{key: k, path: true}]]}';
  const rules = {
    'a.yaml': `domain: d\n${block}\ndescriptors: [{key: a}]`,
    'b.yaml': 'domain: d\nanswers: {retry_after: false}\ndescriptors: [{key: b}]',
  };
  t.match(load(rules, { mergeDomains: true }).domains[0], { requests: { onFailure: 'allow' }, answers: {} });
  const twice = { ...rules, 'b.yaml': `domain: d\n${block}\ndescriptors: [{key: b}]` };
  t.throws(() => load(twice, { mergeDomains: true }), {
    message: 'b.yaml:2:11: d: the domain already has `requests` in a.yaml: write them in one of the files',
  });
});

t.test('repeated blocks are merged key by key', async t => {
  const [{ requests }] = load(
    file(`requests: {on_failure: deny, descriptors: [[{key: a, path: true}]]}
requests: {client_address: {trusted_proxies: 3}, descriptors: [[{key: b, path: true}]]}`),
  ).domains;
  t.match(requests, {
    onFailure: 'deny',
    clientAddress: { trustedProxies: 3 },
    descriptors: [[{ key: 'b' }]],
  });
});

t.test('there are bounds for descriptors and entries', async t => {
  const many = (count: number, item: string): string => Array.from({ length: count }, () => item).join(', ');
  const descriptors = (count: number): string =>
    file(`requests: {descriptors: [${many(count, '[{key: k, path: true}]')}]}`);
  t.equal(load(descriptors(32)).domains[0].requests?.descriptors.length, 32);
  t.match(refusal(descriptors(33)), '`descriptors` of `requests` may have at most 32 items: remove some');
  t.match(
    refusal(entry(many(17, '{key: k, path: true}'))),
    'each item of `descriptors` of `requests` may have at most 16 items: remove some',
  );
});
