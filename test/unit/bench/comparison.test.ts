import t from 'tap';
import { loadsOf } from '../../../bench/load/against/loads.ts';
import { readPlan } from '../../../bench/load/decisions/plan.ts';
import { medianInterval } from '../../../bench/support/comparison/interval.ts';
import { commitOf } from '../../../bench/support/comparison/other-build.ts';
import { treeRssBytes } from '../../../bench/support/comparison/process-tree.ts';
import {
  type ComparedFigure,
  comparedRatio,
  comparedTable,
} from '../../../bench/support/comparison/table.ts';
import { inTurns } from '../../../bench/support/comparison/turns.ts';
import { BadArguments } from '../../../bench/support/options.ts';
import { tempDirectory } from '../../support/temp-directory.ts';

const oneTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

function figure(present: readonly number[], better: 'more' | 'less' = 'more'): ComparedFigure {
  return { name: 'requests/s', decimals: 0, better, present, other: present.map(() => 100) };
}

t.test('the confidence interval of a median has the ranks of the binomial distribution', async t => {
  for (const [count, low, high] of [
    [6, 1, 6],
    [8, 1, 8],
    [9, 2, 8],
    [11, 2, 10],
    [12, 3, 10],
    [20, 6, 15],
    [50, 18, 33],
  ])
    t.same(medianInterval(oneTo(count).toReversed()), { low, high }, `${count} values`);
});

t.test('fewer than six values, or one that is none, have no confidence interval', async t => {
  for (const count of [0, 1, 5]) t.equal(medianInterval(oneTo(count)), null);
  t.equal(medianInterval([...oneTo(8), Number.NaN]), null);
});

t.test('every other round is run backwards', async t => {
  t.same(
    [1, 2, 3, 4].flatMap(round => inTurns(['a', 'b'], round)),
    ['a', 'b', 'b', 'a', 'a', 'b', 'b', 'a'],
  );
});

t.test('a difference is shown unless the interval of the ratio contains 1', async t => {
  const verdict = (...all: Parameters<typeof figure>) => comparedRatio(figure(...all)).verdict;
  t.equal(verdict([101, 102, 103, 104, 105, 106]), 'better');
  t.equal(verdict([101, 102, 103, 104, 105, 106], 'less'), 'worse');
  t.equal(verdict([94, 95, 96, 97, 98, 99]), 'worse');
  t.equal(verdict([94, 95, 96, 97, 98, 99], 'less'), 'better');
  t.equal(verdict([99, 102, 103, 104, 105, 106]), 'no difference can be shown');
  t.equal(verdict([101, 102, 103]), 'too few rounds');
});

t.test('a machine that changes its speed between rounds does not change the ratio', async t => {
  const present = [110, 11, 220, 110, 55, 22];
  const compared = { ...figure(present), other: present.map(each => each / 1.1) };
  const { ratio, interval } = comparedRatio(compared);
  t.equal(ratio.toFixed(6), '1.100000');
  t.equal(interval?.low.toFixed(6), '1.100000');
});

t.test(
  'the table has both builds, the ratio and its interval, and leaves out what was not measured',
  async t => {
    const figures = [figure([99, 101, 102, 103, 104, 105]), figure([Number.NaN])];
    const [head, title, ...lines] = comparedTable([{ title: 'one hot key', figures }], '16b0364');
    t.match(head, /present +16b0364 +ratio +95 %$/);
    t.equal(title, 'one hot key');
    t.equal(lines.length, 1);
    t.match(lines[0], /^ {2}requests\/s +103 +100 +1\.025 +0\.990–1\.050 +no difference can be shown$/);
  },
);

t.test('two builds are compared in nine short rounds of three parts, without the baseline', async t => {
  const plan = readPlan(['--against', 'main', '--store', 'embedded', '--quick']);
  t.match(plan, { against: 'main', rounds: 9, paced: { rounds: 9 }, durations: { measuredMs: 500 } });
  t.same(plan.parts, ['load', 'half-peak', 'everyday']);
  const loads = loadsOf(plan);
  t.same(
    loads.map(({ rate, apart }) => [rate, apart]),
    [
      [null, false],
      [null, false],
      [null, false],
      [null, false],
      ['half of the peak', false],
      ['half of the peak', false],
      [10_000, true],
      [10_000, false],
    ],
  );
  t.ok(loads.every(({ contestant }) => contestant === 'embedded'));
  t.match(readPlan(['--against', 'main', '--rounds', '12', '--seconds', '3']), {
    rounds: 12,
    durations: { measuredMs: 3_000 },
    paced: { rounds: 12, durations: { measuredMs: 3_000 } },
    everyday: { rounds: 12, durations: { measuredMs: 3_000 } },
  });
  t.equal(readPlan([]).against, null);
});

t.test('what cannot be compared between builds is refused', async t => {
  for (const [args, message] of [
    [['--only', 'rules'], '--against compares load, half-peak, everyday, and not rules'],
    [['--serve-threads', '1,2'], '--against cannot be used with --serve-threads'],
    [['--peer', 'a=b'], '--against cannot be used with --peer'],
    [
      ['--front', 'json', '--pattern', 'none'],
      'no usual scenario has all of that; with both --pattern and --connections any combination is run',
    ],
  ] as const)
    t.throws(() => readPlan(['--against', 'main', ...args]), new BadArguments(message));
});

t.test('a folder without a history has no commits', async t => {
  const folder = tempDirectory(t);
  t.throws(
    () => commitOf('HEAD', folder),
    new BadArguments(
      `--against needs a clone with its history, and ${folder} is not one: clone the repository with git`,
    ),
  );
});

t.test(
  'the memory of a process includes that of its children',
  { skip: process.platform !== 'linux' },
  async t => {
    t.ok(treeRssBytes(process.pid) > 10e6);
  },
);
