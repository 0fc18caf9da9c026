import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Child } from '../support/child-process.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { repositoryRoot } from '../support/repository.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing } from '../support/tools.ts';

// The programs of docs/tasks/python.md.

const page = readFileSync(join(repositoryRoot(), 'docs/tasks/python.md'), 'utf8');
const program = /^```python\n(.*?)^```/ms.exec(page)?.[1] ?? '';
/** What a reader replaces. */
const WORK = '    return {"size": len(json.dumps(task["payload"]))}\n';

t.test('the worker is short', async t => {
  const lines = program.split('\n').filter(line => line.trim() !== '');
  t.ok(lines.length > 20 && lines.length < 40, `${lines.length} lines`);
  t.ok(program.includes(WORK));
});

t.test(
  'the worker does tasks, reports failures and stops',
  { skip: missing('python3', 'python3') },
  async t => {
    const service = await startTasksService(t);
    const tenant = await newTenant(service);
    await tenant.make('workers', { name: 'resizer', mode: 'pull', retry: { max_attempts: 1 } });
    const { value } = await tenant.make('workers/resizer/secrets', { type: 'token' });
    const proxy = await cuttingProxy(t, service.http);
    const file = join(tempDirectory(t), 'worker.py');
    const failing = `    if task["payload"] == "bad":\n        raise ValueError("a bad photo")\n${WORK}`;
    writeFileSync(file, program.replace(WORK, failing));
    const worker = new Child({
      command: 'python3',
      args: [file],
      env: { PATH: process.env['PATH'], SLUICE_URL: proxy.url, WORKER_TOKEN: value },
    });
    t.teardown(() => worker.end('SIGKILL', 0));

    const create = async (payload: unknown): Promise<string> =>
      (await tenant.make('tasks', { worker: 'resizer', payload })).id;
    const first = await create({ photo: 17 });
    t.match(await tenant.taskIn(first, 'succeeded'), { attempt: 1, result: { size: 13 } }, worker.output);
    const bad = await create('bad');
    t.match(await tenant.taskIn(bad, 'failed'), {
      last_error: { code: 'ValueError', message: 'a bad photo' },
    });
    proxy.toCut = 2;
    const second = await create({ photo: 18 });
    t.match(await tenant.taskIn(second, 'succeeded'), { attempt: 1 }, 'lost answers are asked for again');
    t.ok(proxy.cut === 2, 'answers were lost');
    t.match(await worker.end('SIGTERM', 30_000), { status: 0, signal: null }, worker.output);
  },
);
