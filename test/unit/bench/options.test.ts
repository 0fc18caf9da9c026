import t from 'tap';
import {
  BadArguments,
  boundedNumber,
  listed,
  wholeNumber,
  wholeNumbers,
} from '../../../bench/support/options.ts';

const bounds = { name: '--minutes', min: 0.1, max: 600 };

t.test('numbers within their bounds are taken', async t => {
  t.equal(boundedNumber('3', bounds), 3);
  t.equal(boundedNumber('0.1', bounds), 0.1);
  t.equal(boundedNumber('600', bounds), 600);
});

t.test('what is no number, or beyond the bounds, is refused by its name', async t => {
  for (const text of ['', ' ', 'three', '0', '601', 'NaN', 'Infinity']) {
    t.throws(
      () => boundedNumber(text, bounds),
      new BadArguments(`--minutes ${text} is not a number from 0.1 to 600`),
      text,
    );
  }
});

t.test('half of something that can only be counted is refused', async t => {
  t.equal(wholeNumber('5', bounds), 5);
  t.throws(
    () => wholeNumber('2.5', bounds),
    new BadArguments('--minutes 2.5 is not a whole number from 0.1 to 600'),
  );
});

t.test('whole numbers between commas are taken in their order, and a repeated one is refused', async t => {
  const list = { name: '--serve-threads', min: 1, max: 64 };
  t.same(wholeNumbers('2', list), [2]);
  t.same(wholeNumbers('4,1,2', list), [4, 1, 2]);
  t.throws(
    () => wholeNumbers('1,2,', list),
    new BadArguments('--serve-threads  is not a number from 1 to 64'),
  );
  t.throws(() => wholeNumbers('1,2,1', list), new BadArguments('--serve-threads 1,2,1 has a number twice'));
});

t.test(
  'names between commas keep their order, and an unknown one is refused with the known ones',
  async t => {
    const list = { name: '--store', known: ['embedded', 'redis'] as const };
    t.same(listed('redis,embedded', list), ['redis', 'embedded']);
    t.throws(
      () => listed('redis,disk', list),
      new BadArguments('--store disk is not one of embedded, redis'),
    );
  },
);
