import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { openApiDocument } from '../../../src/tasks/rest/openapi/document.ts';
import { tenantRoutes } from '../../../src/tasks/rest/routes.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { TaskHarness } from '../../support/tasks/task-harness.ts';
import { repositoryFiles } from './files.ts';

const root = repositoryRoot();
const { GENERATED, headOf } = await import(pathToFileURL(join(root, 'clients/typescript/generate.mjs')).href);

/** The first lines of the generated file, and the others. */
function parts(text: string): readonly [head: string, types: string] {
  const lines = text.split('\n');
  return [`${lines.slice(0, 3).join('\n')}\n`, lines.slice(4).join('\n')];
}

t.test('the types of the client are those of the OpenAPI document', async t => {
  const routes = tenantRoutes(new TaskHarness().parts);
  const document = JSON.parse(JSON.stringify(openApiDocument(routes, '1.0.0')));
  const [head, types] = parts(readFileSync(GENERATED, 'utf8'));
  t.equal(
    head,
    headOf(document, types),
    'clients/typescript/src/generated/api.ts is of another document or was edited. Run: npm run client-types',
  );
  t.equal(headOf({ ...document, info: { version: '2.0.0' } }, types), head, 'the version does not matter');
  const [example] = Object.keys(document.components.examples);
  document.components.examples[example].summary = 'another one';
  t.equal(headOf(document, types), head, 'nor do examples of bodies');
  document.components.schemas.Task.properties.added = { type: 'string' };
  t.not(headOf(document, types), head, 'another field is noticed');
  t.not(head, headOf(document, `${types} `), 'an edit is noticed');
});

/** What files import, other than modules of Node.js. */
function importsOf(pattern: RegExp): string[] {
  const files = repositoryFiles(root).filter(path => pattern.test(path));
  const found = files.flatMap(path => [
    ...readFileSync(join(root, path), 'utf8').matchAll(/\bfrom '([^']+)'|\bimport\s*\(?'([^']+)'/g),
  ]);
  return found.map(([, from, imported]) => from ?? imported).filter(name => !name.startsWith('node:'));
}

t.test('the clients import nothing but Node.js', async t => {
  for (const files of [/^clients\/typescript\/src\/.*\.ts$/, /^clients\/limit\/src\/.*\.ts$/]) {
    const imports = importsOf(files);
    t.ok(imports.length > 10, 'there are imports to look at');
    t.same(
      imports.filter(name => !/^\.\.?\/(?:generated\/|adapters\/)?[\w-]+\.ts$/.test(name)),
      [],
    );
  }
});

t.test('examples import nothing but the client', async t => {
  t.same([...new Set(importsOf(/^examples\/.*\.ts$/))], ['../../clients/typescript/src/index.ts']);
});
