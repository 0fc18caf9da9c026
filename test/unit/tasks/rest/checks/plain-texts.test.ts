import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());

test('what stores look up, or count by, has no control characters and no halves of characters', async (rest, t) => {
  await rest.pushWorker();
  await rest.pullWorker();
  for (const text of ['\u0000', 'a\u0000b', 'a\ud800b', '\udfff', 'a\nb', '\u007f']) {
    const name = JSON.stringify(text);
    const bodies: readonly (readonly [path: string, body: object, pointer: string])[] = [
      ['tasks', { worker: 'mailer', group: text }, '/group'],
      ['schedules', { name: 'a', worker: 'mailer', every: '1h', task: { group: text } }, '/task/group'],
      ['workers/crawler/leases', { instance: text }, '/instance'],
    ];
    for (const [path, body, pointer] of bodies) {
      const errors = [{ pointer, detail: `${pointer} must not contain control characters` }];
      t.match(await rest.at('POST', path, body), problem('validation_failed', { errors }), `${path} ${name}`);
    }
    for (const filter of ['key', 'type', 'group']) {
      const action = { action: 'cancel', filter: { [filter]: text } };
      t.match(
        await rest.at('POST', 'tasks/actions', action),
        problem('invalid_parameter'),
        `${filter} ${name}`,
      );
      if (!text.isWellFormed()) continue;
      const query = `tasks?${filter}=${encodeURIComponent(text)}`;
      const errors = [{ parameter: filter, detail: `${filter} must not contain control characters` }];
      t.match(await rest.at('GET', query), problem('invalid_parameter', { errors }), query);
    }
  }
  t.equal((await rest.task({ group: 'jürgen 😀' })).group, 'jürgen 😀');
});
