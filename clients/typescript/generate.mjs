// Writes src/generated/api.ts from the OpenAPI document of the task service: `npm run client-types`.
//   node clients/typescript/generate.mjs        starts the built service and asks it
//   node clients/typescript/generate.mjs URL    asks a running service at this address
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installTypesGenerator } from '../../ops/launch/packages.mjs';
import { root } from '../../ops/launch/step.mjs';

/** The file with the types. */
export const GENERATED = fileURLToPath(new URL('src/generated/api.ts', import.meta.url));

/**
 * Returns the text of the file for an OpenAPI document. Its first lines contain digests of the document and of the other
 * lines, so that a test notices changes of either without the generator.
 */
export async function generatedText(document) {
  const { default: openapiTS, astToString } = await import('openapi-typescript');
  const types = astToString(await openapiTS(relevant(document)));
  return `${headOf(document, types)}\n${types}`;
}

/** The first lines of the file for a document, if the file contains these types. */
export function headOf(document, types) {
  return [
    '// Generated from the OpenAPI document of the task service. Do not edit: run `npm run client-types`.',
    `// Document: sha256 ${digest(JSON.stringify(relevant(document)))}`,
    `// Types:    sha256 ${digest(types)}`,
    '',
  ].join('\n');
}

/**
 * The parts that types depend on, in an order that does not depend on the order of routes. Error answers are left out:
 * the client reads all of them as a problem, and they would be three quarters of the file. Examples of bodies are left
 * out because types do not show them.
 */
function relevant({ openapi, paths, components, webhooks }) {
  const successes = operation => ({ ...operation, responses: only(/^2/, operation.responses) });
  return withoutExamples({
    openapi,
    info: { title: 'Sluice tasks', version: '1' },
    paths: sorted(paths, methods => sorted(only(METHOD, methods), successes)),
    ...(webhooks !== undefined && { webhooks: sorted(webhooks, methods => methods) }),
    components,
  });
}

/** Examples of bodies stand beside their schema, or beside all schemas. */
function withoutExamples(node) {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map(withoutExamples);
  const { examples, ...others } = node;
  const kept = 'schema' in node || 'schemas' in node ? others : node;
  return Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, withoutExamples(value)]));
}

const METHOD = /^(?:get|post|put|patch|delete)$/;

function only(pattern, entries) {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => pattern.test(name)));
}

function sorted(entries, change) {
  const list = Object.entries(entries).map(([name, value]) => [name, change(value)]);
  return Object.fromEntries(list.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex');
}

async function documentAt(address) {
  const answer = await fetch(new URL('/api/v1/openapi.json', address));
  if (!answer.ok) throw new Error(`${address} answered ${answer.status} instead of its OpenAPI document.`);
  return answer.json();
}

/** Starts the built service with tasks in a temporary directory, runs `use` with its address, and stops it. */
async function withService(use) {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-'));
  const service = spawn(process.execPath, [join(root, 'ops/launch/sluice.mjs'), 'serve'], {
    env: {
      PATH: process.env.PATH,
      ...{ HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' },
      ...{ PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0', LOG_FORMAT: 'json', DISABLE_STATS: 'true' },
      ...{
        RUNTIME_ROOT: join(root, 'ops/quickstart'),
        RUNTIME_APPDIRECTORY: 'config',
        RUNTIME_WATCH_ROOT: 'false',
      },
      ...{ TASKS_ENABLED: 'true', TASKS_DATA_DIRECTORY: directory },
      SECRETS_MASTER_KEY: randomBytes(32).toString('base64'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise(resolve => service.once('close', resolve));
  try {
    return await use(`http://${await addressOf(service)}`);
  } finally {
    service.kill();
    await ended;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Reads the log of the service until it names the address of its HTTP port. */
async function addressOf({ stderr }) {
  for await (const line of createInterface(stderr)) {
    const { '@message': message, http } = line.startsWith('{') ? JSON.parse(line) : {};
    if (message !== 'Sluice is ready') continue;
    // The rest of the log is not read.
    stderr.resume();
    return http;
  }
  throw new Error('The service did not start. Run "npm start" to see why.');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await installTypesGenerator();
  const [, , url] = process.argv;
  const document = url === undefined ? await withService(documentAt) : await documentAt(url);
  writeFileSync(GENERATED, await generatedText(document));
}
