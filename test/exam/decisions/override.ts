import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { deciding, grown, OK, type OpenStore, OVER_LIMIT, shown } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

/** A rule that would block, shadow and hide everything: none of it may reach a descriptor with its own limit. */
const RULES = ruleFile({
  key: 'k',
  shadow_mode: true,
  quota_mode: true,
  metadata: { of: 'the rule' },
  rate_limit: limit(0, { name: 'rule', replaces: [{ name: 'other' }] }),
});

/** Limits that requests bring along. */
export function examineOverride(t: Test, open: OpenStore): void {
  examineLimits(t, open);
  examineUnits(t, open);
}

function asking(unit: number, requestsPerUnit: number, texts = ['k=v']) {
  const descriptors = texts.map(text => descriptor(text, { limit: { requestsPerUnit, unit } }));
  return { domain: 'd', descriptors, hitsAddend: 0 };
}

function examineLimits(t: Test, open: OpenStore): void {
  t.test('the request’s own limit takes the place of the rule and all its flags', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const growth = await grown(decisions, async () => {
      const { statuses } = await decisions.ask(asking(2, 2));
      t.strictSame(statuses, [
        {
          code: OK,
          currentLimit: { name: '', requestsPerUnit: 2, unit: 2 },
          limitRemaining: 1,
          durationUntilReset: 40,
        },
      ]);
    });
    t.strictSame(growth, { 'rate_limit.d.k_v.total_hits': 1, 'rate_limit.d.k_v.within_limit': 1 });
    await decisions.ask(asking(2, 2));
    const over = await decisions.ask(asking(2, 2));
    t.strictSame(
      [over.overallCode, over.statuses[0].code],
      [OVER_LIMIT, OVER_LIMIT],
      'it is neither shadowed nor a quota',
    );
    t.strictSame(decisions.rule('d.k'), {}, 'the rule counts nothing');
  });

  t.test('each descriptor of a request may have its own', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(9) });
    const { statuses } = await decisions.ask({
      ...request(
        'd',
        descriptor('k=a', { limit: { requestsPerUnit: 5, unit: 3 }, hitsAddend: 2 }),
        descriptor('k=b'),
        descriptor('x=y', { limit: { requestsPerUnit: 4_294_967_295, unit: 6 } }),
        descriptor('k=a', { limit: { requestsPerUnit: 5, unit: 3 } }),
      ),
      hitsAddend: 3,
    });
    t.strictSame(shown(statuses), ['OK 3', 'OK 6', 'OK 4294967292', 'OK 0']);
  });

  t.test('a limit of 0 blocks', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    t.equal((await decisions.ask(asking(1, 0))).overallCode, OVER_LIMIT);
  });

  t.test('in global quota mode it is a quota like every other', async t => {
    const options = { modes: { shadow: false, quota: true } };
    const decisions = new Decisions({ store: await open(), rules: RULES, options });
    const over = descriptor('a=1', { limit: { requestsPerUnit: 0, unit: 1 } });
    const { overallCode, statuses } = await decisions.ask(request('d', over, descriptor('none=1')));
    t.strictSame([overallCode, statuses[0].code], [OK, OVER_LIMIT]);
  });
}

function examineUnits(t: Test, open: OpenStore): void {
  t.test('unit 7 acts as a week', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const { statuses } = await decisions.ask(asking(7, 9));
    t.strictSame(statuses[0].currentLimit, { name: '', requestsPerUnit: 9, unit: 7 });
    t.equal(statuses[0].durationUntilReset, 92_800);
    const { text } = await decisions.askJson(asking(7, 9));
    t.match(text, '"unit":"WEEK"');
  });

  t.test('an undefined unit is refused by its place, counts nothing, and ends no other request', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(9) });
    const growth = await grown(decisions, async () => {
      const units = [
        { unit: 0, told: 0 },
        { unit: 8, told: 8 },
        { unit: 100, told: 100 },
        // The bits of -1, as JSON can write it.
        { unit: 4_294_967_295, told: -1 },
      ];
      for (const { unit, told } of units) {
        const faulty = asking(unit, 5, ['a=1']);
        const [before, refused, after] = await Promise.allSettled([
          decisions.ask(request('d', 'k=v')),
          decisions.ask({ ...faulty, descriptors: [descriptor('k=v'), ...faulty.descriptors] }),
          decisions.ask(request('d', 'k=v')),
        ]);
        t.equal(before.status, 'fulfilled');
        t.equal(after.status, 'fulfilled');
        t.match(refused, {
          status: 'rejected',
          reason: {
            code: 'bad_request',
            message: new RegExp(`descriptors\\[1\\]\\.limit\\.unit\` is ${told};`),
          },
        });
      }
    });
    t.equal(growth['rate_limit.d.k.total_hits'], 8, 'only the hits of the others');
    t.equal(growth['call.should_rate_limit.service_error'], 4);
    const { statuses } = await decisions.ask(request('d', 'k=v'));
    t.equal(statuses[0].limitRemaining, 0, 'eight before this one');
  });

  t.test('an empty `limit` is one with an undefined unit', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    await t.rejects(decisions.ask(asking(0, 0)), { code: 'bad_request' });
  });

  t.test('in an unknown domain it is not looked at', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    t.equal((await decisions.ask({ ...asking(0, 0), domain: 'unknown' })).overallCode, OK);
  });
}
