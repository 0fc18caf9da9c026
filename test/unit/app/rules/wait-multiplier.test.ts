import t from 'tap';
import { waitMultiplier } from '../../../../src/app/rules/rule-source.ts';

t.test('waits grow with every factor', async t => {
  t.equal(waitMultiplier(0.5), 1.5, 'the default: half as long again');
  t.equal(waitMultiplier(1), 2);
  t.equal(waitMultiplier(1.6), 1.6, 'above 1 it is the factor itself');
  t.equal(waitMultiplier(3), 3);
  t.equal(waitMultiplier(0), 2, 'as in the reference implementation');
  t.equal(waitMultiplier(-1), 2);
});
