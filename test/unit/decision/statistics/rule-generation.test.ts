import t from 'tap';
import { RuleGeneration } from '../../../../src/decision/statistics/rule-statistics.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { compiled } from '../../rules/parse/rule-text.ts';

function generation(): RuleGeneration {
  return new RuleGeneration(compiled('domain: d\ndescriptors: []'));
}

t.test('a replaced generation is idle when its last batch has ended, which is announced once', async t => {
  const rules = generation();
  let announced = 0;
  rules.begin();
  rules.begin();
  rules.end();
  t.notOk(rules.isIdle);
  rules.replaced(() => announced++);
  t.equal(announced, 0);
  rules.end();
  t.ok(rules.isIdle);
  t.equal(announced, 1);
  rules.begin();
  rules.end();
  t.equal(announced, 1);
});

t.test('a generation without batches is idle as soon as it is replaced', async t => {
  const rules = generation();
  rules.begin();
  rules.end();
  let announced = 0;
  rules.replaced(() => announced++);
  t.equal(announced, 1);
});

t.test('a generation in another thread has the same number and the same totals', async t => {
  const rules = generation();
  const other = new RuleGeneration(new CompiledRules(rules.rules.buffer), {
    number: rules.number,
    statistics: rules.statistics.buffer,
  });
  t.equal(other.number, rules.number);
  t.equal(other.statistics.buffer, rules.statistics.buffer);
  t.not(generation().number, rules.number);
});
