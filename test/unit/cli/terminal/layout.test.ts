import t from 'tap';
import { headedTableLines, tableLines, wrapped } from '../../../../src/cli/terminal/layout.ts';

t.test('text is broken at spaces, and longer words only on request', async t => {
  t.same(wrapped('one two three', 7), ['one two', 'three']);
  t.same(wrapped('abcdefghij k', 4), ['abcdefghij', 'k']);
  t.same(wrapped('abcdefghij k', 4, true), ['abcd', 'efgh', 'ij k']);
  t.same(wrapped('', 4), ['']);
});

t.test('without a limit, and within it, a row is one line', async t => {
  const rows = [
    ['a', 'long text with many words'],
    ['bb', ''],
  ];
  t.same(tableLines(rows, null), ['a   long text with many words', 'bb']);
  t.same(tableLines(rows, 29), tableLines(rows, null));
});

t.test('control characters do not reach the terminal', async t => {
  t.same(tableLines([['a\u0007', 'b']], null), ['a\\u0007  b']);
});

t.test('a wide cell takes several lines', async t => {
  t.same(tableLines([['a', 'long text with many words']], 20), ['a  long text with', '   many words']);
});

const HEAD = ['ID', 'TYPE', 'NEXT ATTEMPT', 'LAST ERROR'];

t.test('a table that is too wide loses its empty columns first', async t => {
  const rows = [['tsk_1', '', '2026-03-01 10:00:00Z', 'timeout']];
  t.same(headedTableLines(HEAD, rows, null), [
    'ID     TYPE  NEXT ATTEMPT          LAST ERROR',
    'tsk_1        2026-03-01 10:00:00Z  timeout',
  ]);
  t.same(headedTableLines(HEAD, rows, 40), [
    'ID     NEXT ATTEMPT          LAST ERROR',
    'tsk_1  2026-03-01 10:00:00Z  timeout',
  ]);
  t.same(headedTableLines(HEAD, rows, 30), [
    'ID     NEXT         LAST ERROR',
    '       ATTEMPT',
    'tsk_1  2026-03-01   timeout',
    '       10:00:00Z',
  ]);
});

t.test('a table that cannot be made narrow enough has a block for each row', async t => {
  const rows = [
    ['tsk_1', 'email', '2026-03-01 10:00:00Z', ''],
    ['tsk_2', '', '', 'timeout'],
  ];
  t.same(headedTableLines(HEAD, rows, 24), [
    'ID            tsk_1',
    'TYPE          email',
    'NEXT ATTEMPT  2026-03-01',
    '              10:00:00Z',
    '',
    'ID          tsk_2',
    'LAST ERROR  timeout',
  ]);
});
