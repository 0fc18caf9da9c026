import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { Child } from '../support/child-process.ts';
import { type ModelAnswer, ModelServer } from '../support/model-server.ts';
import { repositoryRoot } from '../support/repository.ts';
import { serviceFor } from '../support/service.ts';
import { missing } from '../support/tools.ts';
import { until } from '../support/until.ts';

// The programs of examples/model-budget, as a reader runs them.

const BUDGET = 20_000;
const LENGTH_MS = 4_000;
const PATIENCE_MS = 60_000;
const RULES = `domain: ai
descriptors:
  - key: user
    holder: lease
    rate_limit: {unit: year, requests_per_unit: ${BUDGET}, reserve: {for: ${LENGTH_MS / 1_000}s}}
  - key: running
    holder: lease
    rate_limit: {concurrency: {limit: 5, for: ${LENGTH_MS / 1_000}s}}
`;

const program = (file: string) => join(repositoryRoot(), file);

/** The command of each program. */
const PROGRAMS: readonly [name: string, command: string, args: readonly string[], skip: string | false][] = [
  ['Node.js', process.execPath, [program('build/examples/model-budget/call.js')], false],
  ['Python', 'python3', [program('examples/model-budget/call.py')], missing('python3', 'python3')],
];

for (const [name, command, args, skip] of PROGRAMS) {
  t.test(`model budget in ${name}`, { skip }, async t => {
    let answer: ModelAnswer = { used: 0 };
    const model = await ModelServer.start(t, () => answer);
    const sluice = await serviceFor(t, { rules: RULES });
    /** What is left of the tokens and of the slots of a user. */
    const left = async (user: string): Promise<number[]> => {
      const descriptors = ['user', 'running'].map(key => ({
        entries: [{ key, value: user }],
        hitsAddend: 0,
      }));
      const { body } = await askOverHttp(sluice.http, { domain: 'ai', descriptors });
      return body.statuses!.map(status => Number(status['limitRemaining'] ?? 0));
    };
    const start = (t: Test, user: string, env: Readonly<Record<string, string>> = {}): Child => {
      const child = new Child({
        command,
        args: [...args, user, 'Tell me a story.'],
        env: {
          PATH: process.env['PATH'],
          SLUICE_JSON: `http://${sluice.http}/json`,
          MODEL_URL: `http://127.0.0.1:${model.port}/v1/chat/completions`,
          EXTEND_MS: '200',
          ...env,
        },
      });
      t.teardown(() => child.end('SIGKILL', PATIENCE_MS));
      return child;
    };

    await t.test('settles what the model has used', async t => {
      answer = { used: 42, stream: true, words: ['Once', ' upon'] };
      const child = start(t, 'ann');
      t.match(await child.ended, { status: 0 }, child.output);
      t.equal(child.output, 'Once upon\n');
      t.match(model.requests.at(-1)?.body, { max_tokens: 1_000, stream: true });
      t.same(await left('ann'), [BUDGET - 42, 5]);
    });

    await t.test('does not call the model if the estimate does not fit, or all slots are taken', async t => {
      const calls = model.requests.length;
      const large = start(t, 'ann', { MAX_TOKENS: String(BUDGET) });
      t.match(await large.ended, { status: 1 });
      t.match(large.output, 'Try again later.');
      t.same(await left('ann'), [BUDGET - 42, 5], 'it has taken no slot');
      for (let i = 0; i < 5; i++) {
        const lease = { id: `other-${i}`, action: 'reserve' };
        const descriptors = [{ entries: [{ key: 'running', value: 'bob' }], lease }];
        await askOverHttp(sluice.http, { domain: 'ai', descriptors });
      }
      t.same(await left('bob'), [BUDGET, 0]);
      t.match(await start(t, 'bob').ended, { status: 1 });
      t.equal((await left('bob'))[0], BUDGET, 'it has held no tokens');
      t.equal(model.requests.length, calls);
    });

    await t.test('extends its lease while the answer streams', async t => {
      answer = { used: 1_234, stream: true, end: 'held' };
      const child = start(t, 'cid');
      await until(() => model.running === 1);
      const heldUntil = Date.now() + 1.5 * LENGTH_MS;
      const seen = new Set<string>();
      while (Date.now() < heldUntil) seen.add(String(await left('cid')));
      t.same([...seen], [String([BUDGET - 1_000, 4])]);
      model.release();
      t.match(await child.ended, { status: 0 }, child.output);
      t.same(await left('cid'), [BUDGET - 1_234, 5]);
    });

    await t.test('settles what has come if the stream ends in the middle', async t => {
      answer = { used: 0, stream: true, words: ['Once', ' upon', ' a'], end: 'dies' };
      const child = start(t, 'dan');
      t.match(await child.ended, { status: 1 });
      t.match(child.output, 'The call has failed: ');
      t.same(await left('dan'), [BUDGET - 3, 5]);
    });

    await t.test('releases its lease if the model fails', async t => {
      for (const end of ['fails', 'dies_early'] as const) {
        answer = { used: 0, end };
        t.match(await start(t, 'eve').ended, { status: 1 });
        t.same(await left('eve'), [BUDGET, 5]);
      }
    });

    await t.test('if it is killed, the lease ends by itself', async t => {
      answer = { used: 0, stream: true, end: 'hangs' };
      const child = start(t, 'fay');
      await until(() => model.running === 1);
      t.same(await left('fay'), [BUDGET - 1_000, 4]);
      await child.end('SIGKILL', PATIENCE_MS);
      const endMs = Date.now() + LENGTH_MS;
      await until(() => Date.now() > endMs);
      t.same(await left('fay'), [BUDGET, 5]);
    });
  });
}
