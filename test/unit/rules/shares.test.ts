import t from 'tap';
import { shareOf, shareText, WHOLE, writtenShare } from '../../../src/rules/shares.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

t.test('a percentage with up to two decimals is a share', async t => {
  for (const [text, share, written] of [
    ['0%', 0, '0%'],
    ['100%', WHOLE, '100%'],
    ['85%', 8_500, '85%'],
    ['12.5%', 1_250, '12.5%'],
    ['12.50%', 1_250, '12.5%'],
    ['0.01%', 1, '0.01%'],
    ['33.33%', 3_333, '33.33%'],
    ['250%', 25_000, '250%'],
  ] as const) {
    t.equal(writtenShare(text), share, text);
    t.equal(shareText(share), written);
  }
  for (const text of ['', '%', '85', '.5%', '1.%', '1.234%', '-1%', '1e2%', ' 5%', '99999%']) {
    t.equal(writtenShare(text), null, JSON.stringify(text));
  }
});

t.test('the share of a limit is exact up to 2^53', async t => {
  const random = new SeededRandom(81);
  for (let round = 0; round < 5_000; round++) {
    const limit = Math.floor(
      (Number.MAX_SAFE_INTEGER / 2 ** random.below(53)) * (random.below(1_000) / 1_000),
    );
    const share = random.below(WHOLE + 1);
    const expected = Number((BigInt(limit) * BigInt(share)) / BigInt(WHOLE));
    t.equal(shareOf(limit, share), expected, `${share} of ${limit}`);
  }
  t.equal(shareOf(Number.MAX_SAFE_INTEGER, WHOLE), Number.MAX_SAFE_INTEGER);
});
