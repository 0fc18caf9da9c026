import type { Test } from 'tap';
import type { StartChecking } from '../support/proxies/checking/behind.ts';
import { ask, askTimes, statusesOf } from '../support/proxies/checking/client.ts';
import { websiteRules } from '../support/proxies/checking/rules.ts';
import { RECEIVED, RECEIVED_USERS, startWebsite } from '../support/proxies/website.ts';
import { sendRaw } from '../support/raw-http.ts';
import { serviceFor } from '../support/service.ts';

/** A proxy that asks Sluice about each request, with its files of `ops`. */
export interface CheckingProxy {
  readonly start: StartChecking<Test>;
  /** Who gets the `RateLimit` headers of an allowed request. */
  readonly informs: 'client' | 'website';
  /** The proxy passes each line of a repeated header on. Sluice joins their values, and the web server may not. */
  readonly passesRepeated?: true;
  /** The proxy cannot tell a 503 because of `on_failure: deny` from another 503 of Sluice. */
  readonly confusesRefusals?: boolean;
}

/** What clients get while Sluice runs, and after it has been stopped. */
export async function runCheckingExam(t: Test, proxy: CheckingProxy): Promise<void> {
  const { start, informs } = proxy;
  const service = await serviceFor(t, { rules: websiteRules(), env: { DISABLE_STATS: 'true' } });
  const website = await startWebsite(t);
  const front = await start(t, { instances: [service.http], website, timeout: '10s' });
  await t.test('RateLimit headers within the limit, then 429 with Retry-After', t =>
    withinAndOver(t, front, informs),
  );
  await t.test('limits for their address, and for what they request', t => described(t, front));
  await t.test('what the web server answers', t => forwarded(t, front));
  await t.test('a decision whatever they write into headers', t => hostile(t, front));
  await t.test('429 over their limit, however they write the header with their name', t =>
    spelled(t, front, proxy),
  );
  await t.test('200 while Sluice is stopped', async t => {
    await service.terminate();
    const body = 'b'.repeat(100_000);
    const reply = await ask(front, '/', { method: 'POST', body, headers: { 'x-user': 'ann' } });
    t.match(reply, { status: 200, body, rateLimit: undefined });
  });
}

async function withinAndOver(t: Test, front: string, informs: CheckingProxy['informs']): Promise<void> {
  const headers = { 'x-user': 'ann' };
  const shownTo = informs === 'client' ? 'ratelimit' : RECEIVED;
  for (const left of [1, 0]) {
    const { status, headers: answered } = await ask(front, '/', { headers });
    t.equal(status, 200);
    t.match(answered[shownTo], new RegExp(`"website\\.user";r=${left};t=[1-9]`));
    if (informs === 'client') t.match(answered['ratelimit-policy'], /"website\.user";q=2;w=31536000/);
    t.equal(answered['retry-after'], undefined);
  }
  const refused = await ask(front, '/', { headers });
  t.equal(refused.status, 429);
  t.match(refused.headers['retry-after'], /^[1-9]\d*$/);
  t.match(refused.headers['ratelimit'], /"website\.user";r=0;t=[1-9]/);
  t.equal(refused.headers[RECEIVED], undefined, 'the web server does not get the request');
}

async function described(t: Test, front: string): Promise<void> {
  const other = { localAddress: '127.0.0.2', headers: { 'x-forwarded-for': '192.0.2.1' } };
  t.same(statusesOf(await askTimes(3, front, '/', other)), [200, 200, 429], 'the address');
  const headers = {
    host: 'shop.example',
    'x-forwarded-host': 'other.example',
    'x-forwarded-method': 'GET',
    'x-forwarded-uri': '/other',
    'x-original-uri': '/other',
    'sluice-refusal-status': '403',
  };
  const order = { method: 'POST', headers, body: 'one' };
  const statuses = statusesOf(await askTimes(3, front, '/a%20b?q=1', order));
  t.same(statuses, [200, 200, 429], 'method, host, path and query, whatever headers say');
  t.equal((await ask(front, '/a%20b?q=2', order)).status, 200);
}

async function forwarded(t: Test, front: string): Promise<void> {
  const body = 'b'.repeat(100_000);
  t.match(await ask(front, '/', { method: 'POST', body }), { status: 200, body }, 'the body');
  t.match(await ask(front, '/forbidden'), { status: 403, body: 'no entry' }, 'a 403 of its own');
  t.match(
    (await ask(front, '/check/website')).rateLimit,
    /website/,
    'a path of the web server, not of Sluice',
  );
}

/** Sluice would not answer some of these, and its answer must not be missed. */
async function hostile(t: Test, front: string): Promise<void> {
  const decided = async (head: string, what: string) => {
    const { status, headers } = await sendRaw(front, `GET /${head}\r\nConnection: close\r\n\r\n`);
    const isDecided = (headers['ratelimit'] ?? headers[RECEIVED]) !== undefined;
    t.ok(isDecided || (status >= 400 && status < 500), `${what} was answered ${status}`);
  };
  for (const code of [0x01, 0x09, 0x0b, 0x1f, 0x7f, 0x80, 0xff]) {
    const character = String.fromCharCode(code);
    for (const name of ['X-Odd', 'X-User', 'X-Forwarded-For', 'Cookie'])
      await decided(` HTTP/1.1\r\nHost: x\r\n${name}: a${character}b`, `${name} with the character ${code}`);
    await decided(`a${character}b HTTP/1.1\r\nHost: x`, `a path with the character ${code}`);
    await decided(` HTTP/1.1\r\nHost: a${character}b`, `a host with the character ${code}`);
  }
  await decided(` HTTP/1.1\r\nHost: x\r\nCookie: a=${'b'.repeat(7_000)}`, 'a long cookie');
  await decided(` HTTP/1.1\r\nHost: x\r\nConnection: X-Forwarded-Uri, X-Forwarded-For`, 'Connection');
  await decided(' HTTP/1.1\r\nHost: a/b,c', 'a host that is none');
}

const REPEATED = ['X-User: ned\r\nX-User: x', 'X-User: x\r\nX-User: ned', 'X-User: ned\r\nX-User: ned'];

/** The web server must not see a user whom Sluice has not seen. */
async function spelled(t: Test, front: string, { passesRepeated }: CheckingProxy): Promise<void> {
  const send = (lines: string) =>
    sendRaw(front, `GET / HTTP/1.1\r\nHost: x\r\n${lines}\r\nConnection: close\r\n\r\n`);
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await send('X-User: ned')).status);
  t.same(statuses, [200, 200, 429]);
  for (const lines of [
    ...['X-User: ned\t', 'X-User:\tned', 'X-User:ned ', 'x-USER: ned', 'X-User:\r\n ned'],
    ...['X-User: ned\x80', 'X-User: ned\x01', 'Connection: X-User\r\nX-User: ned'],
    ...(passesRepeated ? [] : REPEATED),
  ]) {
    const { status, headers } = await send(lines);
    const users: readonly string[] = JSON.parse(headers[RECEIVED_USERS] ?? '[]');
    t.ok([200, 400, 429].includes(status), `${JSON.stringify(lines)} was answered ${status}`);
    t.notOk(users.includes('ned'), `${JSON.stringify(lines)} shows ${headers[RECEIVED_USERS]}`);
  }
}
