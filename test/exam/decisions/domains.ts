import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { deciding, grown, limitFor, OK, type OpenStore } from './examinee.ts';
import { named, ruleFile } from './rule-file.ts';

/** Domains: known, unknown and merged ones, and requests that no rule is found for. */
export function examineDomains(t: Test, open: OpenStore): void {
  examineUnknownDomains(t, open);
  examineMerging(t, open);
}

function examineUnknownDomains(t: Test, open: OpenStore): void {
  t.test('an unknown domain is OK for every descriptor and counted once for each of them', async t => {
    const decisions = await deciding(open, { key: 'a', rate_limit: named('a') });
    const own = descriptor('a=4', { limit: { requestsPerUnit: 0, unit: 3 } });
    const asked = request('not:here', 'a=1', 'a=2', 'a=3');
    const growth = await grown(decisions, async () => {
      const response = await decisions.ask({ ...asked, descriptors: [...asked.descriptors, own] });
      const status = { code: OK, currentLimit: null, limitRemaining: 0, durationUntilReset: null };
      t.strictSame(response, {
        overallCode: OK,
        statuses: [status, status, status, status],
        responseHeadersToAdd: [],
        rawBody: '',
        dynamicMetadata: null,
      });
    });
    t.strictSame(
      growth,
      { 'rate_limit.not_here.domain_not_found': 4 },
      'an override changes nothing about it',
    );
  });

  t.test('what matches no rule is OK and counted nowhere', async t => {
    const decisions = await deciding(open, { key: 'a', rate_limit: named('a') });
    const noEntries = { entries: [], limit: null, hitsAddend: null };
    const growth = await grown(decisions, async () => {
      const response = await decisions.ask(request('d', noEntries, descriptor('b=1'), descriptor('=')));
      t.strictSame(
        response.statuses.map(status => [status.code, status.currentLimit]),
        [
          [OK, null],
          [OK, null],
          [OK, null],
        ],
      );
    });
    t.strictSame(growth, {});
  });

  t.test('a domain without rules is known, and limits nothing', async t => {
    const decisions = await deciding(open);
    t.strictSame(await grown(decisions, () => decisions.ask(request('d', 'a=1'))), {});
    t.strictSame(await grown(decisions, () => decisions.ask(request('D', 'a=1'))), {
      'rate_limit.D.domain_not_found': 1,
    });
  });

  t.test('refusals name the empty field and are counted as service errors', async t => {
    const decisions = await deciding(open);
    const growth = await grown(decisions, async () => {
      await t.rejects(decisions.ask(request('', 'a=1')), {
        code: 'bad_request',
        message: /`domain` is empty/,
      });
      await t.rejects(decisions.ask(request('d')), {
        code: 'bad_request',
        message: /`descriptors` is empty/,
      });
    });
    t.strictSame(growth, { 'call.should_rate_limit.service_error': 2 });
  });
}

function examineMerging(t: Test, open: OpenStore): void {
  t.test('wildcards of merged files are tried in the order of the files', async t => {
    const decisions = await deciding(open);
    const general = ruleFile({ key: 'k', value: 'a*', rate_limit: named('a*') });
    const special = ruleFile({ key: 'k', value: 'ab*', rate_limit: named('ab*') });
    decisions.load({ 'one.yaml': special, 'two.yaml': general }, { mergeDomains: true });
    t.equal(await limitFor(decisions, 'k=abc'), 'ab*');
    decisions.load({ 'one.yaml': general, 'two.yaml': special }, { mergeDomains: true });
    t.equal(await limitFor(decisions, 'k=abc'), 'a*');
  });

  t.test('domains do not see each other’s rules', async t => {
    const other = ruleFile({ key: 'b', rate_limit: named('b') }).replace('"d"', '"e"');
    const decisions = new Decisions({
      store: await open(),
      rules: { 'd.yaml': ruleFile({ key: 'a', rate_limit: named('a') }), 'e.yaml': other },
    });
    const limits = async (domain: string): Promise<(string | undefined)[]> => {
      const { statuses } = await decisions.ask(request(domain, 'a=1', 'b=1'));
      return statuses.map(status => status.currentLimit?.name);
    };
    t.strictSame(await limits('d'), ['a', undefined]);
    t.strictSame(await limits('e'), [undefined, 'b']);
  });
}
