import t from 'tap';
import { openApiDocument } from '../../../../../src/tasks/rest/openapi/document.ts';
import { tenantRoutes } from '../../../../../src/tasks/rest/routes.ts';
import { SchemasOfDocument } from '../../../../support/tasks/schemas-of-document.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is read by its paths
type Document = any;

/** What examples hold of the formats that the document names. */
const FORMATS = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/,
  uri: /^https?:\/\/[^ ]+$/,
  'uri-reference': /^\/errors\/\w+$/,
  'json-pointer': /^(?:\/(?:[^~/]|~[01])*)*$/,
};

const document: Document = openApiDocument(tenantRoutes(new TaskHarness().parts), '1');
const schemas = new SchemasOfDocument(document, FORMATS);

/** Bodies of requests and responses with the steps that lead to them. */
function bodiesIn(
  node: Document,
  steps: readonly string[] = [],
): { steps: readonly string[]; media: Document }[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries<Document>(node).flatMap(([name, value]) => {
    const here = [...steps, name];
    if (name !== 'content') return bodiesIn(value, here);
    return Object.entries<Document>(value).map(([type, media]) => ({ steps: [...here, type], media }));
  });
}

const operations: readonly Document[] = Object.values<Document>(document.paths).flatMap(item =>
  Object.entries<Document>(item).flatMap(([method, operation]) => (method === 'servers' ? [] : [operation])),
);

t.test('each operation has an example of its body and of each response', async t => {
  t.ok(operations.length > 40, `${operations.length} operations`);
  for (const operation of operations) {
    for (const { steps, media } of bodiesIn(operation)) {
      t.not(Object.keys(media.examples ?? {}).length, 0, `${operation.operationId} ${steps.join(' ')}`);
    }
  }
});

t.test('each example fits its schema', async t => {
  for (const part of ['paths', 'webhooks', 'components']) {
    for (const { steps, media } of bodiesIn(document[part], [part])) {
      for (const { $ref } of Object.values<Document>(media.examples ?? {})) {
        const { value } = $ref
          .split('/')
          .slice(1)
          .reduce((at: Document, step: string) => at[step], document);
        t.equal(schemas.faultAt([...steps, 'schema'], value), null, `${steps.join(' ')}: ${$ref}`);
      }
    }
  }
});

t.test('an example that does not fit would be noticed', async t => {
  const steps = ['components', 'schemas', 'NewTask'];
  t.match(schemas.faultAt(steps, { worker: 'mailer', run_at: 'soon' }), /run_at/);
  t.match(schemas.faultAt(steps, { worker: 'mailer', runat: null }), /runat/);
});

/** The example of a body, by the name of its schema. */
function exampleOf(name: string): object {
  return document.components.examples[name].value;
}

t.test('the service accepts the examples of requests, and answers them as the examples do', async t => {
  const rest = new TaskHarness();
  const { token } = await rest.signUp();
  const ask = async (method: string, target: string, body: string) => {
    const answer = await rest.ask(method, `/api/v1/${target}`, { token, body: exampleOf(body) });
    t.ok(answer.status < 300, `${method} ${target}: ${answer.body}`);
    return answer.json;
  };
  const user = await ask('POST', 'users', 'NewUser');
  await ask('PATCH', `users/${user.id}`, 'UserChange');
  await ask('POST', `users/${user.id}/tokens`, 'NewToken');
  const worker = await ask('POST', 'workers', 'NewWorker');
  const task = await ask('POST', 'tasks', 'NewTask');
  await ask('POST', 'tasks/batch', 'NewTasks');
  await ask('PUT', `tasks/${task.id}`, 'TaskChanges');
  await ask('POST', 'tasks/actions', 'TaskAction');
  await ask('PUT', 'workers/mailer', 'WorkerChanges');
  const schedule = await ask('POST', 'schedules', 'NewSchedule');
  await ask('PUT', `schedules/${schedule.id}`, 'ScheduleChanges');
  await ask('POST', 'schedules/preview', 'SchedulePreviewFields');
  for (const [example, made] of [
    ['Worker', worker],
    ['CreatedTask', task],
    ['Schedule', schedule],
    ['User', user],
  ] as const) {
    t.same(
      Object.keys(exampleOf(example)).sort(),
      Object.keys(made).sort(),
      `${example} has the fields of a real answer`,
    );
  }
});
