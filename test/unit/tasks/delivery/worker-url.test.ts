import t from 'tap';
import { checkWorkerUrl, SafeAddresses, type UrlRules } from '../../../../src/tasks/delivery/worker-url.ts';

const STRICT: UrlRules = { addresses: new SafeAddresses([]), allowHttp: false, ports: [] };
const WITH_HTTP: UrlRules = { ...STRICT, allowHttp: true };

/** The code of the refusal, or `ok`. */
function verdict(url: string, rules = STRICT): string {
  const checked = checkWorkerUrl(url, rules);
  return checked.kind === 'ok' ? 'ok' : checked.code;
}

t.test('an https URL leads to its origin and path', async t => {
  t.same(checkWorkerUrl('https://Hooks.Example.com:8443/a/b?c=d#e', STRICT), {
    kind: 'ok',
    target: { origin: 'https://hooks.example.com:8443', host: 'hooks.example.com', path: '/a/b?c=d' },
  });
  t.same(checkWorkerUrl('https://[2606:4700::1111]', STRICT), {
    kind: 'ok',
    target: { origin: 'https://[2606:4700::1111]', host: '2606:4700::1111', path: '/' },
  });
});

t.test('http is for the operator to allow; nothing else ever is', async t => {
  t.equal(verdict('http://example.com/'), 'invalid_url');
  t.equal(verdict('http://example.com/', WITH_HTTP), 'ok');
  for (const url of [
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'javascript:alert(1)',
    'data:,x',
    'ws://example.com/',
    'unix:/run/a.sock',
    'http+unix://a/',
  ]) {
    t.equal(verdict(url, WITH_HTTP), 'invalid_url', url);
  }
});

t.test('texts that are no absolute URL, too long, or hold blanks or controls are rejected', async t => {
  const urls = [
    '',
    'example.com',
    '//example.com/',
    '/a',
    'https://',
    'https:///',
    'https://exa mple.com/',
    'https://example.com/a b',
    ' https://example.com/',
    'https://example.com/\n',
    'https://exa\tmple.com/',
    'https://example.com/\r\nHost: evil',
    'https://[::1',
    'https://example.com:99999/',
    `https://example.com/${'a'.repeat(2_048)}`,
  ];
  for (const url of urls) t.equal(verdict(url), 'invalid_url', url.slice(0, 40));
});

t.test('credentials are refused, and pointed to where they belong', async t => {
  for (const url of [
    'https://user@example.com/',
    'https://user:secret@example.com/',
    'https://:secret@example.com/',
  ]) {
    const checked = checkWorkerUrl(url, STRICT);
    t.match(checked, {
      code: 'invalid_url',
      detail: /send credentials in a header, as a secret of the worker/,
    });
    t.notOk(JSON.stringify(checked).includes('secret@'));
  }
});

t.test('ports are 80, 443, those from 1024 on, and those that the operator lists', async t => {
  for (const port of [80, 443, 1024, 8080, 65535])
    t.equal(verdict(`http://example.com:${port}/`, WITH_HTTP), 'ok');
  for (const port of [0, 1, 22, 25, 53, 1023]) {
    t.equal(verdict(`https://example.com:${port}/`), 'invalid_url', `port ${port}`);
  }
  t.equal(verdict('https://example.com:25/', { ...STRICT, ports: [25] }), 'ok');
  t.match(checkWorkerUrl('https://example.com:25/', STRICT), {
    detail: 'port 25 is not allowed; use 80, 443 or a port from 1024',
  });
});

t.test('an address that is not public is refused in whatever form it is written', async t => {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1.',
    '0',
    '10.0.0.1',
    '169.254.169.254',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[0:0:0:0:0:ffff:10.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '①②⑦.⓪.⓪.①',
  ];
  for (const host of hosts) t.equal(verdict(`https://${host}/`), 'forbidden_address', host);
});

t.test('localhost leads to this machine, under every name that it has', async t => {
  for (const host of ['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'a.b.localhost.']) {
    t.equal(verdict(`https://${host}/`), 'forbidden_address', host);
  }
  for (const host of ['notlocalhost', 'localhost.example.com'])
    t.equal(verdict(`https://${host}/`), 'ok', host);
});

t.test('what the operator allows is no longer refused', async t => {
  const rules = { ...WITH_HTTP, addresses: new SafeAddresses(['127.0.0.0/8']) };
  for (const host of ['127.0.0.1', 'localhost', 'a.localhost'])
    t.equal(verdict(`http://${host}:8080/`, rules), 'ok', host);
  t.equal(verdict('http://10.0.0.1/', rules), 'forbidden_address');
});

t.test('a refusal says what is wrong, and not what the addresses of a name are', async t => {
  t.match(checkWorkerUrl('https://10.0.0.1/', STRICT), {
    kind: 'refused',
    code: 'forbidden_address',
    detail:
      /^10\.0\.0\.1 has no address that tasks may be pushed to: .* are blocked unless the operator allows them$/,
  });
});
