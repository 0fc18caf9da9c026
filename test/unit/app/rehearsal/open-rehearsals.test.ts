import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createRehearsals } from '../../../../src/app/rehearsal/open-rehearsals.ts';
import { compileRules } from '../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { RuleLoads } from '../../../../src/rules/words/rule-loads.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { startSource } from '../../rules/source/started-source.ts';

const LOAD = { mergeDomains: false };
const RULES = 'domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 1}}]\n';

t.test('a promotion whose rules are not loaded fails, and the rehearsal goes on', async t => {
  const root = tempDirectory(t);
  mkdirSync(join(root, 'config'));
  writeFileSync(join(root, 'config/shop.yaml'), '');
  const { source } = await startSource(t, { root, watchRoot: true });
  const clock = new ManualClock(0);
  const loads = new RuleLoads(clock);
  const settings = loadSettings({ RUNTIME_ROOT: root });
  const { rehearsals, stop } = createRehearsals(
    { settings, clock, logger: new KeepingLogger() },
    {
      compile: async files => ({
        rules: new CompiledRules(compileRules(loadRuleSet(files, LOAD))),
        digest: '',
        warnings: [],
      }),
    },
    () => [],
    () => source,
    async () => loads.all[0],
  );
  t.teardown(stop);
  await rehearsals.begin([{ name: 'shop.yaml', content: Buffer.from(RULES) }], {
    source: 'a test',
    share: 1,
  });
  const { id } = (await rehearsals.view(1))!;
  loads.notLoaded('failed', ['the compiler has no memory']);
  await t.rejects(rehearsals.promote(id), {
    message: 'The rule files were replaced, but the rules are not active: the compiler has no memory',
  });
  t.equal(readFileSync(join(root, 'config/shop.yaml'), 'utf8'), RULES);
  t.match(await rehearsals.view(1), { id });
  const rules = new CompiledRules(compileRules(loadRuleSet([], LOAD)));
  await loads.loaded({ rules, digest: '' }, null);
  await rehearsals.promote(id);
  t.equal(await rehearsals.view(1), null);
});
