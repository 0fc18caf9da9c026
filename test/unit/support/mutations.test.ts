import t from 'tap';
import { codeLines, mutationsOf } from '../../support/mutations/mutations.ts';
import { nearestTests } from '../../support/mutations/nearest-tests.ts';

const linesAfter = (line: string, before = '{', path = 'src/a.ts') =>
  mutationsOf(path, line, before).map(mutation => mutation.line);

t.test('a mutation turns an operator, a number or a truth, or negates a condition or a result', async t => {
  t.same(linesAfter('  const isFull = count >= 8 && !stopped;'), [
    '  const isFull = count > 8 && !stopped;',
    '  const isFull = count >= 8 || !stopped;',
    '  const isFull = count >= 9 && !stopped;',
  ]);
  t.same(linesAfter('  if (isDone(task)) return false;'), [
    '  if (isDone(task)) return true;',
    '  if (!(isDone(task))) return false;',
  ]);
  t.same(linesAfter('  return isDone(task);'), ['  return !(isDone(task));']);
});

t.test('a statement is removed if it is one call in one line', async t => {
  t.same(linesAfter('    this.#timer.unref();', 'start();'), ['']);
  t.same(linesAfter('    close(socket);', 'const closed ='), []);
  t.same(linesAfter('    close(socket,', 'start();'), []);
});

t.test('text, comments, imports and types are not changed', async t => {
  t.same(linesAfter("  log('1 + 1 === 2'); // 3 < 4", 'x ='), []);
  const text = 'import { a } from "./a.ts";\n/**\n * 1 + 1\n */\nconst b = `\n1 + 1\n`;\n';
  t.same(codeLines('src/a.ts', text), [4]);
  t.same(codeLines('src/lua/a.ts', text), [4, 5, 6], 'Lua in a template is code');
});

t.test('the nearest tests are those with the fewest imports and folders between', async t => {
  const texts = new Map([
    ['src/a/part.ts', ''],
    ['src/a/whole.ts', "import { part } from './part.ts';"],
    ['test/unit/a/whole.test.ts', "import { whole } from '../../../src/a/whole.ts';"],
    ['test/unit/a/part.test.ts', "import { part } from '../../../src/a/part.ts';"],
    ['test/unit/b/other.test.ts', "import { part } from '../../../src/a/part.ts';"],
    ['test/unit/b/unrelated.test.ts', ''],
    ['test/service/other.test.ts', ''],
    ['test/service/part.test.ts', ''],
  ]);
  t.same(nearestTests('src/a/part.ts', texts), [
    'test/unit/a/part.test.ts',
    'test/unit/a/whole.test.ts',
    'test/unit/b/other.test.ts',
    'test/service/part.test.ts',
    'test/service/other.test.ts',
  ]);
});
