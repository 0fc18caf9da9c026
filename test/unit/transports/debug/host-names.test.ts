import t, { type Test } from 'tap';
import { HostNames } from '../../../../src/transports/debug/host-names.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { sendRaw } from '../../../support/raw-http.ts';
import { onEachEngine } from '../http/on-each-engine.ts';
import { startedDebugServer } from './debugging.ts';

const CONFIGURED = ['sluice.example.com', '*.ops.example.com'];

t.test('names that only the own network has are allowed, with any port and in any letter case', async t => {
  const names = new HostNames(CONFIGURED, 'Gateway-1.prod.example.com');
  for (const host of [
    '',
    '127.0.0.1',
    '10.0.0.5:6070',
    '[::1]:6070',
    '[fd00::5]',
    'localhost:6070',
    'LOCALHOST',
    'localhost.',
    'app.localhost:6070',
    'sluice',
    'gateway-1:6070',
    'gateway-1.prod.example.com:6070',
    'sluice.ratelimit.svc:6070',
    'sluice.ratelimit.svc.cluster.local:6070',
    '10-0-0-5.ratelimit.pod.cluster.local',
    'ip-10-0-0-5.ec2.internal',
    'printer.home.arpa',
    'sluice.example.com',
    'a.ops.example.com:443',
    'a.b.ops.example.com.',
  ]) {
    t.ok(names.allows(host), host);
  }
});

t.test('all other names are refused, also if they look like an allowed one', async t => {
  const names = new HostNames(CONFIGURED, 'gateway-1');
  for (const host of [
    'attacker.example:6070',
    'example.com',
    'x.sluice.example.com',
    'ops.example.com',
    'sluice.example.com.attacker.example',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    '127.0.0.1.nip.io',
    'xlocalhost.com',
    'attacker.svc.example',
    '1.2.3.4.5',
    'a.b:1:2',
    '[::1].attacker.example',
  ]) {
    t.notOk(names.allows(host), host);
  }
});

/** A debug port, asked for a path as a client with this `Host` does. */
async function asked(t: Test) {
  const server = await startedDebugServer(t, new ManualClock(0), { hostNames: CONFIGURED });
  return (line: string, host: string, accept = '*/*', body = '') =>
    sendRaw(
      `127.0.0.1:${server.port}`,
      `${line} HTTP/1.1\r\nHost: ${host}\r\nAccept: ${accept}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
}

onEachEngine('a page of another site cannot read the live page and the API through its own name', async t => {
  const ask = await asked(t);
  for (const [line, accept] of [
    ['GET /', 'text/html'],
    ['GET /page/live/0/live.js', '*/*'],
  ] as const) {
    const { status, headers, body } = await ask(line, 'attacker.example:6070', accept);
    t.equal(status, 421, line);
    t.equal(headers['content-type'], 'text/plain; charset=utf-8', line);
    t.match(body, /^The request is for the host "attacker\.example:6070", .*DEBUG_HOST_NAMES.*\.\n$/, line);
  }
  for (const line of ['GET /api/v1/openapi.json', 'DELETE /api/v1/counters', 'GET /api/v1/nothing']) {
    const { status, headers, body } = await ask(line, 'attacker.example');
    t.equal(status, 421, line);
    t.equal(headers['content-type'], 'application/problem+json', line);
    t.match(JSON.parse(body), { code: 'unknown_host', status: 421, detail: /DEBUG_HOST_NAMES/ }, line);
  }
  const explained = await ask('POST /explain', 'attacker.example', '*/*', '{"domain":"shop"}');
  t.equal(explained.status, 421);
  t.match(JSON.parse(explained.body).error, { code: 'unknown_host', message: /DEBUG_HOST_NAMES/ });
});

onEachEngine('configured names and addresses can, and the pages of the reference have no names', async t => {
  const ask = await asked(t);
  for (const host of ['127.0.0.1:6070', 'sluice.example.com', 'a.ops.example.com']) {
    t.equal((await ask('GET /', host, 'text/html')).status, 200, host);
    t.equal((await ask('GET /api/v1/openapi.json', host)).status, 200, host);
  }
  for (const path of ['/', '/stats', '/rlconfig', '/debug/pprof/']) {
    t.equal((await ask(`GET ${path}`, 'attacker.example')).status, 200, path);
  }
});
