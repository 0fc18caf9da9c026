import { execFileSync, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { freePort } from '../support/free-port.ts';
import { repositoryRoot } from '../support/repository.ts';
import { ServiceProcess } from '../support/service.ts';
import { makeTempDirectory, removeDirectory } from '../support/temp-directory.ts';
import { missing } from '../support/tools.ts';

// The shell commands of docs/tasks/guide.md and docs/tasks/receivers.md, as a reader pastes them into a terminal.

const PATIENCE_MS = 60_000;

interface Section {
  readonly heading: string;
  /** What goes into the shell, in order. */
  readonly commands: readonly string[];
  /** What is to be saved, in order. */
  readonly programs: readonly string[];
}

/** The page, with other ports. */
function sectionsOf(page: string, ports: Readonly<Record<string, string>>): Section[] {
  const text = page.replace(/\b(?:8080|9000)\b/g, port => ports[port]);
  return text.split(/^## /m).map(part => {
    const blocks = (language: string) =>
      [...part.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, block]) => block);
    return { heading: part.split('\n', 1)[0], commands: blocks('sh'), programs: blocks('python') };
  });
}

/** A shell that is fed as a terminal is, and everything that it and its programs write. */
class Shell {
  readonly #process;
  readonly #events = new EventEmitter();
  #output = '';

  constructor(folder: string) {
    this.#process = spawn('sh', [], { cwd: folder, detached: true });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream.on('data', chunk => {
        this.#output += chunk;
        this.#events.emit('output');
      });
    }
  }

  /** Enters lines; resolves with what was written since then, once that matches. */
  async enter(lines: string, until: RegExp): Promise<string> {
    const from = this.#output.length;
    this.#process.stdin.write(lines);
    const late = AbortSignal.timeout(PATIENCE_MS);
    while (!until.test(this.#output.slice(from))) {
      await once(this.#events, 'output', { signal: late }).catch(cause => {
        throw new Error(`${lines}\ncame to:\n${this.#output.slice(from)}`, { cause });
      });
    }
    return this.#output.slice(from);
  }

  /** Ends it with everything that it started. */
  async end(): Promise<void> {
    const { pid, exitCode } = this.#process;
    if (exitCode !== null || pid === undefined) return;
    const ended = once(this.#process, 'close');
    process.kill(-pid, 'SIGTERM');
    await ended;
  }
}

const folder = makeTempDirectory();
let service: ServiceProcess;
let shell: Shell;
let guide: Section[];
let receivers: Section[];

t.before(async () => {
  service = new ServiceProcess({
    args: ['serve', '--quickstart'],
    env: { TASKS_DATA_DIRECTORY: join(folder, 'data'), LOG_FORMAT: 'text' },
  });
  await service.written(/Ctrl-C stops it/, PATIENCE_MS);
  const port = /HTTP +http:\/\/[^:]+:(\d+)/.exec(service.output)?.[1] as string;
  const ports = { 8080: port, 9000: String(await freePort()) };
  const page = (name: string) => readFileSync(join(repositoryRoot(), 'docs/tasks', name), 'utf8');
  guide = sectionsOf(page('guide.md'), ports);
  receivers = sectionsOf(page('receivers.md'), ports);
  shell = new Shell(folder);
});

let entered = 0;
/** Enters one block after the other; what they wrote. */
async function enter(blocks: readonly string[]): Promise<string> {
  let output = '';
  for (const block of blocks) {
    const mark = `-- end of block ${++entered} --`;
    output += (await shell.enter(`${block}echo '${mark}'\n`, new RegExp(mark))).replace(`${mark}\n`, '');
  }
  return output;
}

/** What each section of the first part has to come to. */
const EXPECTED: readonly (readonly [heading: string, output: RegExp])[] = [
  ['1. Sign up', /^$/],
  ['2. Create a worker', /^\{"id":"wrk_\w+","name":"mailer","mode":"pull".*\}\n$/],
  ['3. Create a task', /^\{"id":"tsk_\w+","worker":"mailer".*"deduplicated":false.*\}\n$/],
  ['4. Repeat the request', /^\{"id":"tsk_\w+","worker":"mailer".*\}\n$/],
  ['5. Create a task for later', /^\{"id":"tsk_\w+".*"status":"scheduled".*"tags":\["reminder"\].*\}\n$/],
  [
    '6. List tasks',
    /^\{"data":\[\{"id":"tsk_(?!.*"tsk_.*"tsk_.*"tsk_).*"id":"tsk_.*\}\],"next_cursor":null\}\n$/,
  ],
  ['7. Cancel by filter', /^\{"matched":1,"changed":1,"skipped":\[\],"next_cursor":null\}\n$/],
  [
    '8. Take a task',
    /^\{"leases":\[\{"lease_id":"\w+".*"status":"running".*"payload":\{"to":"ann@example.com"\}/,
  ],
  ['9. Extend the lease', /^\{"expires_at":"\S+","cancel_requested":false\}\n$/],
  ['10. Complete the task', /^\{"id":"tsk_\w+".*"status":"succeeded".*\}\n$/],
  ['11. Look at the task', /^\{"id":"tsk_\w+".*"status":"succeeded".*"result":\{"sent":true\}.*\}\n$/],
  ['12. Read its history', /"event":"created".*"event":"started".*"progress":50.*"event":"succeeded"/],
];

t.test('twelve calls go from a new account to the history of a task', async t => {
  const [introduction, ...steps] = guide;
  t.equal(await enter(introduction.commands), '');
  const ids: (string | undefined)[] = [];
  for (const [index, [heading, output]] of EXPECTED.entries()) {
    const { heading: found, commands } = steps[index];
    t.equal(found, heading);
    t.equal(commands.join('').split('curl ').length, 2, `${heading}: one call`);
    const written = await enter(commands);
    t.match(written, output, heading);
    ids.push(/"id":"(tsk_\w+)"/.exec(written)?.[1]);
  }
  const [made, again, later] = ids.slice(2);
  t.equal(again, made, 'the same key finds the same task');
  t.not(later, made);
  t.equal(ids[10], made, 'the task that was completed is the one that was created');
  t.match(await enter(['ls -l headers\n']), /^-rw------- /, 'the token is for its owner only');
});

const withoutPython = missing('python3', 'python3');

t.test(
  'a receiver in Python takes a push of the service, and nothing else',
  { skip: withoutPython },
  async t => {
    const { commands, programs } = receivers.find(each => each.heading === 'Pushed tasks')!;
    const [verifier, receiver] = programs;
    t.equal(verifier.trimEnd().split('\n').length, 15, 'the verifier has fifteen lines');
    writeFileSync(join(folder, 'verify.py'), verifier);
    writeFileSync(join(folder, 'receiver.py'), receiver);
    const [worker, forged, task, end] = commands;
    t.match(await enter([worker]), /"name":"notifier","mode":"push"/);
    t.match(await enter([forged]), /^401$/m);
    const pushed = await shell.enter(task, /^tsk_\w+ \{"hello":"world"\}$/m);
    const id = /"id":"(tsk_\w+)"/.exec(pushed)![1];
    t.match(pushed, new RegExp(`^${id} `, 'm'));
    t.notMatch(await enter([end]), /No such|Traceback/);
  },
);

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;

/** As an independent library signs. */
function signed(id: string, at: Date, body: string, secret = SECRET): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}

t.test('the verifier accepts signatures of its secret alone', { skip: withoutPython }, async t => {
  const now = new Date();
  const good = signed('tsk_1', now, 'wörk');
  const signature = good['webhook-signature'];
  const other = signed('tsk_1', now, 'wörk', OTHER)['webhook-signature'];
  const cases: readonly (readonly [
    what: string,
    headers: Record<string, string>,
    body: string,
    valid: boolean,
  ])[] = [
    ['a signature', good, 'wörk', true],
    ['one of several', { ...good, 'webhook-signature': `${other} ${signature}` }, 'wörk', true],
    ['another secret', { ...good, 'webhook-signature': other }, 'wörk', false],
    ['another body', good, 'work', false],
    ['another id', { ...good, 'webhook-id': 'tsk_2' }, 'wörk', false],
    ['no fields', {}, 'wörk', false],
    ['an empty signature', { ...good, 'webhook-signature': '' }, 'wörk', false],
    ['no version', { ...good, 'webhook-signature': signature.slice(3) }, 'wörk', false],
    ['letters beyond ASCII', { ...good, 'webhook-signature': 'v1,ä' }, 'wörk', false],
    ['an old one', signed('tsk_1', new Date(now.getTime() - 86_400_000), 'wörk'), 'wörk', false],
    ['one of the future', signed('tsk_1', new Date(now.getTime() + 86_400_000), 'wörk'), 'wörk', false],
    ...['', 'soon', '²', '-1', '1e9', '9'.repeat(400)].map(
      time =>
        [`the time "${time.slice(0, 8)}"`, { ...good, 'webhook-timestamp': time }, 'wörk', false] as const,
    ),
  ];
  const script = `
import json, sys
from verify import verify
print(json.dumps([verify(${JSON.stringify(SECRET)}, h, b.encode()) for h, b in json.load(sys.stdin)]))
`;
  const input = JSON.stringify(cases.map(([, headers, body]) => [headers, body]));
  const answers = execFileSync('python3', ['-c', script], { cwd: folder, input, encoding: 'utf8' });
  for (const [index, valid] of JSON.parse(answers).entries())
    t.equal(valid, cases[index][3], cases[index][0]);
});

// Not a teardown: what runs keeps the whole from ending, which is what a teardown of the whole waits for.
t.test('the service ends in order', async t => {
  await shell.end();
  t.match(await service.terminate(), { status: 0 });
  removeDirectory(folder);
});
