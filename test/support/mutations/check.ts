/**
 * Changes random lines of `src`, one at a time and in a copy of the repository, and reports which changes the tests
 * notice. Those that survive are either equivalent to the code, or show what no test looks at.
 */
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pinnedNode } from '../../../bench/support/pinned-node.ts';
import { repositoryFiles } from '../../unit/repository/files.ts';
import { repositoryRoot } from '../repository.ts';
import { SeededRandom } from '../seeded-random.ts';
import { Copy } from './copy.ts';
import { codeLines, type Mutation, mutationsOf } from './mutations.ts';
import { nearestTests } from './nearest-tests.ts';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '7' },
    count: { type: 'string', default: '60' },
    /** Only files whose path begins so, for example `src/decision`, and optionally one line: `src/base/bytes.ts:12`. */
    in: { type: 'string', default: 'src/' },
    /** For how long further test files are started for one change. */
    seconds: { type: 'string', default: '120' },
    json: { type: 'boolean', default: false },
  },
});

interface Result {
  readonly place: string;
  readonly before: string;
  readonly change: string;
  readonly after: string;
  /** The test file and the test that failed; undefined if the change survived. */
  readonly caughtBy?: string;
  /** Number of test files that ran, and of those for which the time was too short. */
  readonly ran: number;
  readonly left: number;
}

setPriority(10);
const root = repositoryRoot();
const files = repositoryFiles(root);
const texts = new Map(
  files
    .filter(path => /^(?:src|test|workers)\/.*\.ts$/.test(path))
    .map(path => [path, readFileSync(join(root, path), 'utf8')]),
);
/** The copy that is changed, and one that shows whether a test passes without the change. */
const changed = new Copy(root, files, pinnedNode());
const unchanged = new Copy(root, files, pinnedNode());
const passes = new Map<string, boolean>();

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    removeCopies();
    process.exit(1);
  });
const results: Result[] = [];
try {
  for (const { path, line, mutation } of mutants()) {
    if (results.length === Number(options.count)) break;
    const result = await check(path, line, mutation);
    if (result === undefined) continue;
    results.push(result);
    if (!options.json) process.stdout.write(`${textOf(result)}\n`);
  }
} finally {
  removeCopies();
}
const caught = results.filter(result => result.caughtBy !== undefined).length;
const share = caught / results.length;
process.stdout.write(
  options.json
    ? `${JSON.stringify({ seed: Number(options.seed), caught, share, results }, null, 2)}\n`
    : `${caught} of ${results.length} are caught (${(share * 100).toFixed(0)} %)\n`,
);

function removeCopies(): void {
  changed.remove();
  unchanged.remove();
}

/** Yields mutations of random lines, each once. Each line of code is equally likely. */
function* mutants(): Generator<{ path: string; line: number; mutation: Mutation }> {
  const [prefix, only] = options.in.split(':');
  const lines = [...texts]
    .filter(([path]) => path.startsWith('src/') && path.startsWith(prefix))
    .flatMap(([path, text]) => codeLines(path, text).map(line => ({ path, line })))
    .filter(({ line }) => only === undefined || line === Number(only) - 1);
  const random = new SeededRandom(Number(options.seed));
  while (lines.length > 0) {
    const at = random.below(lines.length);
    const { path, line } = lines[at];
    lines.splice(at, 1);
    const text = (texts.get(path) as string).split('\n');
    const mutations = mutationsOf(path, text[line], text[line - 1] ?? '');
    // For a single line, all are of interest.
    if (only !== undefined) for (const mutation of mutations) yield { path, line, mutation };
    else if (mutations.length > 0) yield { path, line, mutation: random.pick(mutations) };
  }
}

/** Undefined if the change is none: it does not compile, or only concerns types. */
async function check(
  path: string,
  line: number,
  { change, line: after }: Mutation,
): Promise<Result | undefined> {
  const text = texts.get(path) as string;
  const lines = text.split('\n');
  changed.write(path, lines.with(line, after).join('\n'));
  try {
    if (!changed.build() || changed.built(path) === unchanged.built(path)) return undefined;
    const tests = nearestTests(path, texts);
    const end = performance.now() + Number(options.seconds) * 1_000;
    let ran = 0;
    let caughtBy: string | undefined;
    while (ran < tests.length && caughtBy === undefined && performance.now() < end)
      caughtBy = await failure(tests[ran++]);
    const place = `${path}:${line + 1}`;
    const found = {
      place,
      change,
      before: lines[line].trim(),
      after: after.trim(),
      ran,
      left: tests.length - ran,
    };
    return caughtBy === undefined ? found : { ...found, caughtBy };
  } finally {
    changed.write(path, text);
  }
}

/** Returns which test of a file fails because of the change, and not only by chance. */
async function failure(file: string): Promise<string | undefined> {
  if ((await changed.failureOf(file)) === undefined) return undefined;
  if (!passes.has(file)) passes.set(file, (await unchanged.failureOf(file)) === undefined);
  if (passes.get(file) === false) return undefined;
  const test = await changed.failureOf(file);
  return test === undefined ? undefined : `${file}: ${test}`;
}

function textOf({ place, before, change, after, caughtBy, ran, left }: Result): string {
  const verdict =
    caughtBy === undefined ? `SURVIVED ${ran} test files, ${left} did not run` : `caught by ${caughtBy}`;
  return `${place}  ${change}\n    - ${before}\n    + ${after}\n    ${verdict}`;
}
