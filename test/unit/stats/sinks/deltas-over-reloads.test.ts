import t from 'tap';
import {
  ROW_SLOTS,
  RuleGeneration,
  RuleStatistics,
} from '../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import { compileRules } from '../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { RULE_STAT } from '../../../../src/stats/names.ts';
import { CounterDeltas } from '../../../../src/stats/sinks/deltas.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { load } from '../../rules/parse/rule-text.ts';

const KEYS = Array.from({ length: 12 }, (_, number) => `k${number}`);

function generation(keys: readonly string[]): RuleGeneration {
  const entries = keys.map(key => `{key: '${key}', rate_limit: {unit: day, requests_per_unit: 1}}`);
  return new RuleGeneration(
    new CompiledRules(compileRules(load(`domain: d\ndescriptors: [${entries.join(', ')}]`))),
  );
}

t.test(
  'however often rules are replaced while statistics are read, differences add up to the hits',
  async t => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = new SeededRandom(seed);
      const statistics = new RuleStatistics();
      const deltas = new CounterDeltas();
      const counted: Record<string, number> = {};
      const sent: Record<string, number> = {};
      /** Rules with which batches in progress were matched. */
      let underWay: { readonly rules: RuleGeneration; readonly keys: readonly string[] }[] = [];

      const publish = (): void => {
        const keys = KEYS.filter(() => random.below(3) > 0);
        const rules = generation(keys);
        rules.begin();
        statistics.publish(rules);
        underWay.push({ rules, keys });
        while (underWay.length > 2) (underWay.shift() as (typeof underWay)[0]).rules.end();
      };
      const count = (): void => {
        for (const { rules, keys } of underWay) {
          if (keys.length === 0) continue;
          const limit = random.below(keys.length);
          addTotal(rules.statistics, limit * ROW_SLOTS + RULE_STAT.totalHits, 1);
          const name = `ratelimit.service.rate_limit.d.${keys[limit]}.total_hits`;
          counted[name] = (counted[name] ?? 0) + 1;
        }
      };
      const flush = (meanwhile: () => void): void => {
        for (const [name, total] of statistics.totals()) {
          if (total > 0 && name.endsWith('.total_hits'))
            sent[name] = (sent[name] ?? 0) + deltas.take(name, total);
          meanwhile();
        }
        deltas.flushed();
      };

      for (let round = 0; round < 12; round++) {
        publish();
        for (let hits = random.below(10); hits > 0; hits--) count();
        flush(() => {
          if (random.below(12) === 0) publish();
          if (random.below(4) === 0) for (const _pause of statistics.carryOver());
          // What comes now may lie in rows that were carried over.
          count();
        });
      }
      for (const { rules } of underWay) rules.end();
      underWay = [];
      flush(() => {});
      t.same(sent, counted, `seed ${seed}`);
    }
  },
);
