import t from 'tap';
import { openApiDocument } from '../../../../../src/tasks/rest/openapi/document.ts';
import { taskRoutes } from '../../../../../src/tasks/rest/routes.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';

interface Document {
  readonly paths: Record<string, Record<string, { readonly requestBody: unknown }>>;
  readonly components: { readonly schemas: Record<string, { readonly required?: readonly string[] }> };
}

t.test('the document shows what a task of a batch looks like, though each is checked on its own', async t => {
  const rest = new TaskHarness();
  const document = openApiDocument(taskRoutes(rest.parts), '1') as Document;
  const { schemas } = document.components;
  t.match(schemas['NewTasks'], {
    properties: { tasks: { type: 'array', items: { $ref: '#/components/schemas/NewTask' } } },
  });
  t.match(schemas['NewTask'], { required: ['worker'], additionalProperties: false });
});

t.test('the document has every path of the interface that it began with', async t => {
  const rest = new TaskHarness();
  const { paths } = openApiDocument(taskRoutes(rest.parts), '1') as Document;
  const methods = (path: string) => Object.keys(paths[path] ?? {}).sort();
  t.same(methods('/v1/tasks'), ['get', 'post']);
  t.same(methods('/v1/tasks/{id}'), ['delete', 'get', 'patch', 'put']);
  t.same(methods('/v1/tasks/{id}/history'), ['get']);
  t.same(methods('/v1/workers'), ['get', 'post']);
  t.same(methods('/v1/workers/{id}'), ['delete', 'get', 'patch', 'put']);
  t.same(methods('/v1/workers/{id}/secrets'), ['get', 'post']);
});
