import t from 'tap';
import { addressOf } from '../../../../clients/limit/src/address.ts';
import { LimitClient } from '../../../../clients/limit/src/client.ts';

t.test('addresses of ports, with TLS and of unix sockets are accepted', async t => {
  const origins = {
    '127.0.0.1:9000': 'http://127.0.0.1:9000',
    'sluice.test': 'http://sluice.test:8081',
    'http://sluice.test:80/': 'http://sluice.test:80',
    'https://sluice.test': 'https://sluice.test:8081',
    'HTTPS://sluice.test:443': 'https://sluice.test:443',
    '[::1]:9000': 'http://[::1]:9000',
    '[fe80::1%eth0]:9000': 'http://[fe80::1]:9000',
    'unix:/run/sluice.sock': 'http://localhost',
    'unix:///run/sluice.sock': 'http://localhost',
  };
  for (const [text, origin] of Object.entries(origins)) t.match(addressOf(text), { text, origin });
});

t.test('other addresses are rejected when the client is created', async t => {
  const wrong = [
    '',
    'unix:',
    'unix:sluice.sock',
    'a:b',
    'a:0',
    'a:65536',
    'ftp://a',
    'a b',
    'http://a/path',
    '::1',
    'u@a',
    'foo^bar:1',
    'a%00b',
    '1.2.3.999',
    '[::g]',
    'a?b',
    'a#b',
    'a\\b',
  ];
  for (const address of wrong) {
    t.throws(() => new LimitClient({ address }), {
      name: 'RangeError',
      message: `The address of the service is "${address}". It must be HOST:PORT, https://HOST:PORT or unix:/PATH.`,
    });
  }
});

t.test('options with values that are not accepted are rejected', async t => {
  const wrong: readonly [object, RegExp][] = [
    [{ timeoutMs: 0 }, /^timeoutMs is 0\. It must be from 1 to 60000\.$/],
    [{ timeoutMs: Number.NaN }, /^timeoutMs is NaN/],
    [{ maxPending: 0 }, /^maxPending is 0\. It must be at least 1\.$/],
    [{ onFailure: 'open' }, /^onFailure is open\. It must be "allow" or "deny"\.$/],
  ];
  for (const [options, message] of wrong)
    t.throws(() => new LimitClient({ address: '127.0.0.1:1', ...options }), { name: 'RangeError', message });
});
