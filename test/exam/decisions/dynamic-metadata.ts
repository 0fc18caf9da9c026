import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { deciding, type OpenStore } from './examinee.ts';
import { bucket, type EntryText, limit, ruleFile, sliding } from './rule-file.ts';

const OPTIONS = { dynamicMetadata: true };

/** `dynamic_metadata` of responses. */
export function examineDynamicMetadata(t: Test, open: OpenStore): void {
  const describing = async (...entries: EntryText[]): Promise<Decisions> =>
    new Decisions({ store: await open(), rules: ruleFile(...entries), options: OPTIONS });
  examineDescription(t, open, describing);
  examineContributors(t, describing);
  examineMerging(t, describing);
}

type Describing = (...entries: EntryText[]) => Promise<Decisions>;

/** The `metadata` field of the answer to the descriptors. */
async function metadataOf(decisions: Decisions, ...texts: string[]): Promise<unknown> {
  return (await decisions.ask(request('d', ...texts))).dynamicMetadata?.['metadata'];
}

function examineDescription(t: Test, open: OpenStore, describing: Describing): void {
  t.test('the request is described: domain, entries, own limits and hits', async t => {
    const decisions = await describing();
    const response = await decisions.ask({
      ...request(
        'd',
        descriptor('a=1,b=x=y,c='),
        { entries: [], limit: null, hitsAddend: null },
        descriptor('a=2', { limit: { requestsPerUnit: 10, unit: 4 }, hitsAddend: 0 }),
        descriptor('ü=日', { limit: { requestsPerUnit: 0, unit: 7 }, hitsAddend: 5 }),
        descriptor('a=3', { hitsAddend: 2, isNegativeHits: true }),
      ),
      hitsAddend: 7,
    });
    t.strictSame(response.dynamicMetadata, {
      domain: 'd',
      descriptors: [
        { entries: ['a=1', 'b=x=y', 'c='] },
        { entries: [] },
        { entries: ['a=2'], limit: 'requests_per_unit:10 unit:DAY', hitsAddend: 0 },
        { entries: ['ü=日'], limit: 'unit:7', hitsAddend: 5 },
        { entries: ['a=3'], hitsAddend: 2, isNegativeHits: true },
      ],
      hitsAddend: 7,
    });
  });

  t.test('hits that are not set are left out, also in an unknown domain', async t => {
    const decisions = await describing();
    const { dynamicMetadata } = await decisions.ask(request('other', 'a=1'));
    t.strictSame(dynamicMetadata, { domain: 'other', descriptors: [{ entries: ['a=1'] }] });
  });

  t.test('without the setting there is none', async t => {
    const decisions = await deciding(open, { key: 'k', metadata: { a: 1 }, rate_limit: limit(1) });
    t.equal((await decisions.ask(request('d', 'k=v'))).dynamicMetadata, null);
  });
}

function examineContributors(t: Test, describing: Describing): void {
  const marked = (key: string, more: Partial<EntryText> = {}): EntryText => ({
    key,
    metadata: { [key]: true },
    rate_limit: limit(10, { name: key }),
    ...more,
  });

  t.test('only descriptors that pass contribute, those in shadow mode pass', async t => {
    const decisions = await describing(
      marked('ok'),
      marked('over', { rate_limit: limit(0) }),
      marked('shadow', { rate_limit: limit(0), shadow_mode: true }),
    );
    t.strictSame(await metadataOf(decisions, 'ok=1', 'over=1', 'shadow=1'), { ok: true, shadow: true });
    t.equal(await metadataOf(decisions, 'over=1'), undefined);
  });

  t.test('rules that are unlimited or replaced, and descriptors without a rule, add nothing', async t => {
    const replaces = [{ name: 'old' }];
    const decisions = await describing(
      marked('old'),
      marked('new', { rate_limit: limit(10, { replaces }) }),
      marked('free', { rate_limit: { unlimited: true } }),
      { key: 'bare', metadata: { bare: true } },
      marked('own'),
    );
    const response = await decisions.ask(
      request(
        'd',
        ...['old=1', 'new=1', 'free=1', 'bare=1'].map(text => descriptor(text)),
        descriptor('own=1', { limit: { requestsPerUnit: 5, unit: 1 } }),
      ),
    );
    t.strictSame(response.dynamicMetadata?.['metadata'], { new: true });
  });

  t.test('only the entry that matched counts, its parents do not', async t => {
    const decisions = await describing(marked('outer', { descriptors: [marked('inner')] }), {
      key: 'plain',
      metadata: { plain: true },
      descriptors: [{ key: 'inner', rate_limit: limit(10) }],
    });
    t.strictSame(await metadataOf(decisions, 'outer=1,inner=1'), { inner: true });
    t.equal(await metadataOf(decisions, 'plain=1,inner=1'), undefined);
  });

  t.test('rules whose statistics are counted by value keep their metadata', async t => {
    const decisions = await describing(
      marked('detailed', { detailed_metric: true }),
      marked('valued', { value_to_metric: true }),
      marked('wild', { value: 'a*', share_threshold: true, value_to_metric: true }),
    );
    const metadata = await metadataOf(decisions, 'detailed=1', 'valued=1', 'wild=a1');
    t.strictSame(metadata, { detailed: true, valued: true, wild: true });
  });
}

function examineMerging(t: Test, describing: Describing): void {
  t.test('the first value of a key wins, maps are merged in turn, lists are not', async t => {
    const holding = (key: string, metadata: object): EntryText => ({ key, metadata, rate_limit: limit(10) });
    const decisions = await describing(
      holding('a', { text: 'a', list: [1, 2], map: { x: 1, deep: { p: 1 } }, mixed: { is: 'map' } }),
      holding('b', {
        text: 'b',
        list: [3],
        map: { x: 2, y: 2, deep: { p: 2, q: 2 } },
        mixed: 'text',
        b: null,
      }),
      holding('c', { map: { z: 3, deep: 'text' }, b: true, c: 1.5 }),
    );
    t.strictSame(await metadataOf(decisions, 'a=1', 'b=1', 'c=1'), {
      text: 'a',
      list: [1, 2],
      map: { x: 1, y: 2, z: 3, deep: { p: 1, q: 2 } },
      mixed: { is: 'map' },
      b: null,
      c: 1.5,
    });
    t.strictSame(await metadataOf(decisions, 'c=1', 'b=1'), {
      text: 'b',
      list: [3],
      map: { x: 2, y: 2, z: 3, deep: 'text' },
      mixed: 'text',
      b: true,
      c: 1.5,
    });
    // Merging into the maps of the loaded rules would show here.
    t.strictSame(await metadataOf(decisions, 'a=1'), {
      text: 'a',
      list: [1, 2],
      map: { x: 1, deep: { p: 1 } },
      mixed: { is: 'map' },
    });
  });

  t.test('names that mean something to JavaScript are names like others', async t => {
    const text = (key: string, metadata: string) =>
      `{"key":"${key}","metadata":${metadata},"rate_limit":{"unit":"hour","requests_per_unit":10}}`;
    const one = text('a', '{"__proto__":{"polluted":1},"constructor":{"x":1},"toString":"s"}');
    const two = text('b', '{"__proto__":{"own":2},"constructor":{"y":2},"hasOwnProperty":true}');
    const decisions = await describing();
    decisions.load(`{"domain":"d","descriptors":[${one},${two}]}`);
    const { text: answer } = await decisions.askJson(request('d', 'a=1', 'b=1'));
    t.match(
      answer,
      '"metadata":{"__proto__":{"own":2,"polluted":1},"constructor":{"x":1,"y":2},"hasOwnProperty":true,"toString":"s"}',
    );
    t.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });
}

/** The limits in `dynamic_metadata` that are not plain. */
export function examineMetadataOfLimits(t: Test, open: OpenStore): void {
  const describing = async (...entries: EntryText[]): Promise<Decisions> =>
    new Decisions({ store: await open(), rules: ruleFile(...entries), options: OPTIONS });
  const described = async (decisions: Decisions, ...texts: string[]): Promise<unknown> =>
    (await decisions.ask({ ...request('d', ...texts), hitsAddend: 3 })).dynamicMetadata?.['descriptors'];

  t.test('limits that a status cannot describe are listed, each with its window', async t => {
    const decisions = await describing(
      { key: 'plain', rate_limit: limit(9) },
      { key: 'five', rate_limit: { window: '5m', requests_per_unit: 9 } },
      { key: 'bucket', rate_limit: bucket(100, 3, { name: 'tokens' }) },
    );
    t.strictSame(await described(decisions, 'plain=1', 'five=1', 'bucket=1', 'none=1'), [
      { entries: ['plain=1'] },
      {
        entries: ['five=1'],
        limits: [
          {
            name: '',
            requestsPerUnit: 9,
            window: '5m',
            algorithm: 'fixed_window',
            code: 'OK',
            remaining: 6,
            resetSeconds: 100,
          },
        ],
      },
      {
        entries: ['bucket=1'],
        limits: [
          {
            name: 'tokens',
            requestsPerUnit: 100,
            window: '1m',
            algorithm: 'token_bucket',
            burst: 3,
            code: 'OK',
            remaining: 0,
            resetSeconds: 0.6,
          },
        ],
      },
      { entries: ['none=1'] },
    ]);
  });

  t.test('all limits of an entry that are not replaced are listed', async t => {
    const limits = [limit(2, { name: 'low' }), { ...sliding(9), name: 'high' }, limit(5, { name: 'old' })];
    const decisions = await describing(
      { key: 'k', metadata: { k: true }, rate_limits: limits },
      { key: 'new', rate_limit: limit(9, { replaces: [{ name: 'old' }] }) },
    );
    t.match(await described(decisions, 'k=1', 'new=1'), [
      {
        limits: [
          { name: 'low', window: '1h', code: 'OVER_LIMIT', remaining: 0 },
          { name: 'high', window: '5m', algorithm: 'sliding_window', code: 'OK', remaining: 6 },
        ],
      },
      { entries: ['new=1'] },
    ]);
    t.strictSame(await metadataOf(decisions, 'k=2'), { k: true });
    t.equal(await metadataOf(decisions, 'k=1'), undefined, 'over its limit');
  });
}
