import t, { type Test } from 'tap';
import { RehearsalPublisher } from '../../../src/rehearsal/rehearsal-channel.ts';
import { Rehearsals } from '../../../src/rehearsal/rehearsals.ts';
import { compileRules } from '../../../src/rules/compile.ts';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { loadRuleSet } from '../../../src/rules/parse/load.ts';
import type { RuleFile } from '../../../src/rules/rule-set.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const SETTINGS = { mergeDomains: false };
const FROM = { source: 'a test', share: 1 };

function filesOf(limit: number, name = 'shop.yaml'): RuleFile[] {
  const rule = `[{key: user, rate_limit: {unit: hour, requests_per_unit: ${limit}}}]`;
  return [{ name, content: Buffer.from(`domain: ${name}\ndescriptors: ${rule}\n`) }];
}

/** Rehearsals whose compilations and promotions end when the test says so. */
function site(t: Test) {
  const publisher = new RehearsalPublisher();
  t.teardown(() => publisher.close());
  const steps: { readonly what: string; end(): void }[] = [];
  const step = async (what: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    steps.push({ what, end: resolve });
    await promise;
  };
  const rehearsals = new Rehearsals({
    compile: async files => {
      await step(`compile ${files.map(({ name }) => name)}`);
      return { rules: new CompiledRules(compileRules(loadRuleSet(files, SETTINGS))) };
    },
    install: files => step(`install ${files.map(({ name }) => name)}`),
    publisher,
    settings: SETTINGS,
    clock: new ManualClock(0),
    logger: new KeepingLogger(),
  });
  const next = async (): Promise<string> => {
    while (steps.length === 0) await new Promise(setImmediate);
    const { what, end } = steps.shift()!;
    end();
    return what;
  };
  const isIdle = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    return steps.length === 0;
  };
  return { rehearsals, publisher, next, isIdle };
}

t.test('a promotion and the candidates of other operators come one after the other', async t => {
  const { rehearsals, next, isIdle } = site(t);
  const begun = rehearsals.begin(filesOf(1, 'one.yaml'), FROM);
  await next();
  await begun;
  const { id } = (await rehearsals.view(1))!;
  const promoted = rehearsals.promote(id);
  const again = rehearsals.promote(id);
  again.catch(() => {});
  const second = rehearsals.begin(filesOf(2, 'two.yaml'), FROM);
  t.equal(await next(), 'install one.yaml');
  await promoted;
  await t.rejects(again, { message: /There are no candidate rules/ }, 'it has been promoted');
  t.equal(await next(), 'compile two.yaml');
  await second;
  t.ok(await isIdle());
  t.match(await rehearsals.view(1), { rules: { limitCount: 1 } }, 'the second candidate is rehearsed');
  await t.rejects(rehearsals.promote(id), { message: /The candidate rules have changed/ });
});

t.test('candidates that are being compiled or wait do not begin after a stop', async t => {
  const { rehearsals, publisher, next, isIdle } = site(t);
  const all = [rehearsals.begin(filesOf(1), FROM), rehearsals.begin(filesOf(2), FROM)];
  await new Promise(setImmediate);
  rehearsals.stop();
  await next();
  await Promise.all(all);
  t.ok(await isIdle(), 'the second one is not even compiled');
  t.equal(await rehearsals.view(1), null);
  t.equal(publisher.current, null);
  const later = rehearsals.begin(filesOf(3), FROM);
  await next();
  await later;
  t.not(publisher.current, null);
});

t.test('files are in the order in which a directory is read, whoever sent them', async t => {
  const { rehearsals, next } = site(t);
  const files = ['b.yaml', 'B.yaml', 'a.yaml', '\u{10000}.yaml', '\u{e000}.yaml'].flatMap(name =>
    filesOf(1, name),
  );
  const begun = rehearsals.begin(files, FROM);
  t.equal(await next(), 'compile B.yaml,a.yaml,b.yaml,\u{e000}.yaml,\u{10000}.yaml');
  await begun;
});
