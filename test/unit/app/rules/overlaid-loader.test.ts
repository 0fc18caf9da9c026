import t from 'tap';
import { OverlaidLoader } from '../../../../src/app/rules/overlaid-loader.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../../../../src/rules/rule-set.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';

function file(name: string): RuleFile {
  return { name, content: Buffer.from(name) };
}

/**
 * A loader that refuses sets with a file whose name contains `bad`, or with `zz` and `narrow`, and that fails to load those
 * with `lost`; and both halves on it.
 */
function fresh() {
  const logger = new KeepingLogger();
  /** The sets that were loaded, each as the names of its files. */
  const tried: string[] = [];
  const refusals: string[] = [];
  let active = '';
  const loader: RuleSetLoader = {
    load: async files => {
      const names = files.map(({ name, format }) => (format === 'overlay' ? `(${name})` : name)).join(' ');
      tried.push(names);
      if (names.includes('bad') || (names.includes('narrow') && names.includes('zz')))
        return { kind: 'refused', reasons: [names] };
      if (names.includes('lost')) return { kind: 'failed', reasons: [names] };
      active = names;
      return { kind: 'active' };
    },
    refuse: reasons => refusals.push(...reasons),
  };
  const check = async (files: readonly RuleFile[]) => !files.some(({ name }) => name.includes('bad'));
  const overlaid = new OverlaidLoader({ loader, check, logger });
  const rules = (...names: string[]): Promise<LoadOutcome> => overlaid.rules.load(names.map(file));
  const overlay = (...names: string[]): Promise<LoadOutcome> => overlaid.overlay.load(names.map(file));
  return { overlaid, rules, overlay, tried, refusals, logger, active: () => active };
}

t.test('rules and overlay are loaded as one set, whichever has changed', async t => {
  const { rules, overlay, tried, overlaid } = fresh();
  t.same(await overlay('o1'), { kind: 'active' });
  t.same(tried, [], 'an overlay alone waits for the first rules');
  t.same(await rules('a', 'b'), { kind: 'active' });
  t.same(await overlay('o2'), { kind: 'active' });
  t.same(await rules('c'), { kind: 'active' });
  t.same(tried, ['(o1) a b', '(o2) a b', '(o2) c']);
  t.same(
    overlaid.overlayFiles.map(({ name }) => name),
    ['o2'],
  );
});

t.test('changes of both at once are one set', async t => {
  const { rules, overlay, tried } = fresh();
  await overlay('o1');
  await rules('a');
  const outcomes = await Promise.all([rules('b'), overlay('o2'), rules('c')]);
  t.same(outcomes, [{ kind: 'active' }, { kind: 'active' }, { kind: 'active' }]);
  t.same(tried.slice(1), ['(o1) b', '(o2) c']);
});

t.test('a faulty overlay is refused, and does not hold up new rules', async t => {
  const { rules, overlay, active, logger, tried } = fresh();
  await overlay('o1');
  await rules('a');
  t.same(await overlay('bad'), { kind: 'refused', reasons: ['(bad) a'] });
  t.equal(active(), '(o1) a', 'the last good ones stay');
  t.same(tried, ['(o1) a', '(bad) a'], 'nothing is loaded twice');
  t.same(await rules('b'), { kind: 'active' });
  t.equal(active(), '(o1) b');
  t.match(
    logger.lines.map(({ message }) => message),
    ['The newest rules are active, with the last overlay files that had no fault: correct the overlay files'],
  );
  t.same(await overlay('o2'), { kind: 'active' });
  t.equal(active(), '(o2) b');
});

t.test('faulty rules are refused, and do not hold up a new overlay', async t => {
  const { rules, overlay, active } = fresh();
  await overlay('o1');
  await rules('a');
  t.match(await rules('bad'), { kind: 'refused' });
  t.same(await overlay('o2'), { kind: 'active' });
  t.equal(active(), '(o2) a');
  t.same(await rules('b'), { kind: 'active' });
  t.equal(active(), '(o2) b');
});

t.test('no rules are loaded without their overlay, but their source is not to blame', async t => {
  const { rules, overlay, overlaid, refusals, active } = fresh();
  overlaid.overlay.refuse(['the directory is missing']);
  const reasons = ['the rules are not loaded without their overlay: the directory is missing'];
  t.same(await rules('bad'), { kind: 'refused', reasons });
  t.same(await rules('a'), { kind: 'active' });
  t.equal(active(), '');
  t.notOk(overlaid.isOverlayActive);
  t.same(refusals, ['the directory is missing', ...reasons, ...reasons]);
  t.same(await overlay('o1'), { kind: 'active' });
  t.equal(active(), '(o1) a', 'they are loaded as soon as it is there');
});

t.test(
  'rules that the overlay does not fit are accepted, and become active with the next overlay',
  async t => {
    const { rules, overlay, active, logger, overlaid } = fresh();
    await overlay('narrow');
    await rules('a');
    t.same(await rules('zz'), { kind: 'active' }, 'the rules alone have no fault');
    t.equal(active(), '(narrow) a');
    t.match(logger.lines[0].message, /^The newest rules have no fault, but are not active/);
    t.match(await rules('bad'), { kind: 'refused' });
    t.match(await overlay('bad'), { kind: 'refused' });
    t.notOk(overlaid.isOverlayActive);
    t.same(await overlay('o2'), { kind: 'active' });
    t.equal(active(), '(o2) zz', 'the accepted rules, not those before or the refused ones');
    t.ok(overlaid.isOverlayActive);
  },
);

t.test('a set that could not be loaded for a reason outside of it is not told as active', async t => {
  const { rules, overlay, active } = fresh();
  await overlay('o1');
  await rules('a');
  t.same(await rules('lost'), { kind: 'failed', reasons: ['(o1) lost'] });
  t.equal(active(), '(o1) a');
  t.same(await rules('b'), { kind: 'active' });
  t.same(await overlay('lost'), { kind: 'failed', reasons: ['(lost) b'] });
  t.equal(active(), '(o1) b');
});

t.test('both faulty at once, and repaired in either order', async t => {
  for (const order of ['rules first', 'overlay first']) {
    const { rules, overlay, active } = fresh();
    await overlay('o1');
    await rules('a');
    const outcomes = await Promise.all([rules('bad'), overlay('bad')]);
    t.match(outcomes, [{ kind: 'refused' }, { kind: 'refused' }]);
    t.equal(active(), '(o1) a');
    if (order === 'rules first') t.match(await rules('b'), { kind: 'active' });
    t.match(await overlay('o2'), { kind: 'active' });
    if (order !== 'rules first') t.match(await rules('b'), { kind: 'active' });
    t.equal(active(), '(o2) b', order);
  }
});

t.test('a directory that goes away changes nothing', async t => {
  const { rules, overlay, overlaid, refusals, active } = fresh();
  await overlay('o1');
  await rules('a');
  overlaid.overlay.refuse(['the directory is missing']);
  t.same(refusals, ['the directory is missing']);
  t.same(await rules('b'), { kind: 'active' });
  t.equal(active(), '(o1) b');
});
