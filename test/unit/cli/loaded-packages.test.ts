import { execFileSync } from 'node:child_process';
import { extname } from 'node:path';
import t from 'tap';

/** Packages that a module loads, as soon as it is imported in a process of its own. */
function packagesOf(module: string): string[] {
  const url = new URL(`../../../src/${module}${extname(import.meta.url)}`, import.meta.url);
  const script = `
    import { createRequire } from 'node:module';
    await import(${JSON.stringify(url.href)});
    console.log(Object.keys(createRequire(import.meta.url).cache).join('\\n'));
  `;
  const paths = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  const names = paths.split('\n').map(path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? '');
  return [...new Set(names)];
}

t.test('the service loads the packages that it needs in every case, and no client of one store', async t => {
  const loaded = packagesOf('cli/serve/serve');
  t.ok(loaded.includes('piscina'), 'packages are found');
  const onDemand = ['ioredis', 'yaml', 'undici', '@grpc/grpc-js', '@opentelemetry/api', 'uWebSockets.js'];
  t.same(
    loaded.filter(name => onDemand.includes(name)),
    [],
  );
});

t.test(
  'with tasks in a file, threads load no client of Redis and, unless they push or users log in, none of HTTP',
  async t => {
    for (const module of ['tasks-service', 'task-store', 'rest-thread', 'engine-thread']) {
      const loaded = packagesOf(`app/tasks/${module}`);
      t.notOk(loaded.includes('ioredis'), module);
      t.notOk(loaded.includes('undici'), module);
      t.notOk(loaded.includes('jose'), module);
    }
  },
);
