import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  PROBLEMS,
  type ProblemCode,
  problemType,
} from '../../../../../src/tasks/rest/checks/problem-list.ts';
import { openApiDocument } from '../../../../../src/tasks/rest/openapi/document.ts';
import { tenantRoutes } from '../../../../../src/tasks/rest/routes.ts';
import { repositoryRoot } from '../../../../support/repository.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** Codes that a source answers, written as problems or as their addresses. */
const ANSWERED = [
  /\bnew Problem\(\s*'(\w+)'/g,
  /\bproblemAt\(\s*\{[^}]*\},\s*'(\w+)'/g,
  /"type":"\/errors\/(\w+)"/g,
];

/** Codes in a text that are not in the list. */
function unlisted(text: string): string[] {
  return ANSWERED.flatMap(pattern => [...text.matchAll(pattern)].map(([, code]) => code)).filter(
    code => !Object.hasOwn(PROBLEMS, code),
  );
}

t.test('each code that a source or a proxy answers is in the list', async t => {
  const folders = ['src/tasks', 'src/app/tasks', 'src/transports/http', 'ops/nginx', 'ops/haproxy'];
  let problems = 0;
  for (const folder of folders) {
    const root = join(repositoryRoot(), folder);
    for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(?:ts|conf|cfg)$/.test(file)) continue;
      const text = readFileSync(join(root, file), 'utf8');
      for (const pattern of ANSWERED) problems += [...text.matchAll(pattern)].length;
      t.same(unlisted(text), [], `${folder}/${file}`);
    }
  }
  t.ok(problems > 60, `${problems} problems were looked at`);
  t.same(unlisted("throw new Problem('no_such_code', detail)"), ['no_such_code']);
});

t.test('each code is explained in sentences: what has happened, and what to do', async t => {
  for (const code of CODES) {
    const { title, meaning, remedy } = PROBLEMS[code];
    for (const text of [meaning, remedy]) t.match(text, /^[A-Z`].{20,}\.$/, code);
    t.notMatch(title, /\.$/, code);
    t.equal((meaning + remedy).split('`').length % 2, 1, `${code}: backticks come in pairs`);
  }
});

t.test('the document has each code with its explanation, and each response names its codes', async t => {
  // biome-ignore lint/suspicious/noExplicitAny: a document is read by its paths
  const document: any = openApiDocument(tenantRoutes(new TaskHarness().parts), '1');
  for (const code of CODES) {
    const { status, title, meaning, remedy } = PROBLEMS[code];
    t.match(document.components.examples[code], {
      summary: title,
      description: `${meaning}\n\n${remedy}`,
      value: { code, status, title, type: problemType(code) },
    });
  }
  const { $ref } = document.paths['/v1/tasks/{id}'].put.responses['412'];
  t.equal($ref, '#/components/responses/412.version_mismatch');
  t.match(
    document.components.responses['412.version_mismatch'].content['application/problem+json'].examples,
    {
      version_mismatch: { $ref: '#/components/examples/version_mismatch' },
    },
  );
});
