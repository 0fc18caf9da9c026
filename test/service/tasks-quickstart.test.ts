import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { Child } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { repositoryRoot } from '../support/repository.ts';
import { launched } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

/** The commands of the guide, with other ports. */
function guideCommands(ports: Readonly<Record<number, string>>): string[] {
  const guide = readFileSync(join(repositoryRoot(), 'docs/tasks/guide.md'), 'utf8');
  const section = guide.split('\n## ').find(each => each.startsWith('The same with the command line\n'));
  const block = /```sh\n(.*?)```/s.exec(section ?? '')?.[1] ?? '';
  return block
    .trim()
    .split('\n')
    .map(line => line.replace(/\b(8080|9000)\b/g, port => ports[Number(port)]));
}

t.test('the five commands of the guide to tasks work as they are printed', async t => {
  const data = join(tempDirectory(t), 'data');
  const service = launched(t, {
    args: ['serve', '--quickstart'],
    env: { TASKS_DATA_DIRECTORY: data, LOG_FORMAT: 'text' },
  });
  await service.written(/Ctrl-C stops it/);
  const port = /HTTP +http:\/\/[^:]+:(\d+)/.exec(service.output)?.[1] as string;
  const commands = guideCommands({ 8080: port, 9000: String(await freePort()) });
  t.equal(commands.length, 5);

  const first = commands[0].split('  #')[0];
  const printed = service.output.split('\n').map(line => line.trim());
  t.ok(printed.includes(first), 'the service prints the first one');
  t.match(service.output, `in a browser at http://localhost:${port}/`, 'and where the console is');

  const output = await runInShell(['set -e', "trap 'kill $!' EXIT", ...commands].join('\n'));
  t.match(output, /^Tasks can be pushed to http:\/\/localhost:\d+\/$/m);
  t.match(output, /^tsk_\w{26} attempt 1: 200 done$/m, 'the signature is right');
  t.match(output, /^\{"to":"ann@example\.com"\}$/m);
  t.match(output, /created +→ scheduled[\s\S]* started [\s\S]*succeeded +running → succeeded .*HTTP 200/);
  t.notMatch(output, /tk_acme_|whsec_/, 'no secret is shown');

  const keyFile = join(data, 'master.key');
  t.equal(statSync(keyFile).mode & 0o777, 0o600, 'the key of secrets is its owner’s only');
  t.ok(existsSync(join(data, 'tasks.db')));
  const page = await runInShell(`curl -s http://acme.localhost:${port}/api/v1/openapi.json`);
  t.match(JSON.parse(page), { openapi: /^3\.1/ }, 'the address of the tenant needs no name server');
});

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** The receiver of the quick start, and a way to post to it; what it answered. */
async function startReceiver(t: Test) {
  const receiver = new Child({
    command: process.execPath,
    args: [join(repositoryRoot(), 'ops/quickstart/receiver.mjs'), '0'],
    env: { WEBHOOK_SECRET: SECRET },
  });
  t.teardown(() => receiver.end('SIGTERM', 5_000));
  const url = await receiver.line(line => /http:\S+/.exec(line)?.[0], 20_000);
  const send = async (headers: Readonly<Record<string, string>>, body = 'work') => {
    const response = await fetch(url, { method: 'POST', headers, body });
    const { message } = (await response.json()) as { readonly message: string };
    return `${response.status} ${message}`;
  };
  return { receiver, send };
}

/** As an independent library signs. */
function signed(id: string, at: Date, body = 'work', secret = SECRET) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
    'task-attempt': '1',
  };
}

t.test('the receiver takes what is signed with its secret, and nothing else', async t => {
  const { send } = await startReceiver(t);
  const now = new Date();
  const good = signed('tsk_1', now);
  t.equal(await send(good), '200 done');
  t.equal(await send(good), '200 was done before', 'a second time it is not done again');
  const refused = '401 the signature is not valid';
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  t.equal(await send(signed('tsk_2', now, 'work', other)), refused, 'another secret');
  t.equal(await send(signed('tsk_2', now), 'other work'), refused, 'another body');
  t.equal(await send({ ...signed('tsk_2', now), 'webhook-id': 'tsk_3' }), refused, 'another id');
  t.equal(await send({ ...good, 'webhook-signature': '' }), refused, 'no signature');
  t.equal(await send({ ...good, 'webhook-signature': 'v1,AAAA' }), refused, 'a short one');
  t.equal(await send({ 'task-attempt': '1' }), refused, 'no field at all');
  const day = new Date(now.getTime() - 86_400_000);
  t.equal(await send(signed('tsk_4', day)), refused, 'an old request');
  const two = signed('tsk_5', now);
  const both = `${signed('tsk_5', now, 'work', other)['webhook-signature']} ${two['webhook-signature']}`;
  t.equal(
    await send({ ...two, 'webhook-signature': both }),
    '200 done',
    'one of several signatures is enough',
  );
  const hash = createHmac('sha256', Buffer.alloc(32, 7)).update('tsk_6.soon.work').digest('base64');
  const odd = { 'webhook-id': 'tsk_6', 'webhook-timestamp': 'soon', 'webhook-signature': `v1,${hash}` };
  t.equal(await send(odd), refused, 'a time that is none');
});

t.test('the receiver says what it needs when it has no secret', async t => {
  const receiver = new Child({
    command: process.execPath,
    args: [join(repositoryRoot(), 'ops/quickstart/receiver.mjs')],
  });
  t.match(await receiver.ended, { status: 2 });
  t.match(receiver.output, /Set WEBHOOK_SECRET/);
});

/** Without the loaders of the test runner: they cannot load `bin/sluice`, which has no file extension. */
function runInShell(script: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const inShell = ['-c', `unset NODE_OPTIONS\n${script}`];
    execFile('sh', inShell, { cwd: repositoryRoot() }, (failure, stdout, stderr) => {
      if (failure === null) resolve(stdout);
      else reject(new Error(`${script}: ${failure.message}\n${stdout}\n${stderr}`));
    });
  });
}
