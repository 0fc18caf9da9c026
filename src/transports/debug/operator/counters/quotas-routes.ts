import { bucketName } from '../../../../quota/bucket-registry.ts';
import type { BucketExplainer } from '../../../../quota/explain-bucket.ts';
import type { LookAtQuotas } from '../../../../quota/merged-view.ts';
import { optional, whole } from '../fields.ts';
import { OperatorProblem } from '../problem.ts';
import { type OperatorCall, type OperatorRoute, reads } from '../route.ts';
import { explanationView, QUOTA_EXPLANATION } from './quota-explanation.ts';
import { LISTED_PROXIES, MAX_PROXIES, QUOTAS, quotasView } from './quotas-view.ts';
import { fromBody, fromQuery, QUERY, SELECTOR, type Selector } from './selector.ts';

/** Maximum number of buckets in an answer. */
const MAX_COUNT = 500;
const DEFAULT_COUNT = 100;

/** The quotas of a process. */
interface QuotaSources {
  readonly look: LookAtQuotas;
  readonly explainer: Pick<BucketExplainer, 'explain'>;
}

/**
 * `GET /quotas`, `POST /quotas/read` and `POST /quotas/explain`.
 *
 * @param sources null if the counter store cannot grant quotas
 */
export function quotasRoutes(sources: QuotaSources | null): OperatorRoute[] {
  /** One look after the other, so that they take a bounded share of the threads. */
  let last: Promise<unknown> = Promise.resolve();
  const look: LookAtQuotas = question => {
    const looked = last.then(() => supported(sources).look(question));
    last = looked.catch(() => {});
    return looked;
  };
  const one = async (selector: Selector, nowMs: number) => {
    const { domain, entries } = selector;
    const names = [bucketName(domain, entries)];
    return { json: quotasView(await look({ domain, names, most: 1, mostProxies: MAX_PROXIES }), nowMs) };
  };
  const answer = { description: 'The buckets.', schema: QUOTAS };
  return [
    {
      ...reads(
        '/quotas',
        'listQuotas',
        'List the buckets that proxies report to this process, and their grants',
      ),
      query: {
        domain: optional(QUERY.domain),
        descriptor: optional({
          ...QUERY.descriptor,
          description: 'Only this bucket of the domain: `key=value,key=value`, in any order.',
        }),
        count: optional({ ...whole(), min: 1, max: MAX_COUNT }),
      },
      answer,
      handle: async call => {
        const { query, nowMs } = call;
        if (query['descriptor'] !== undefined) return one(fromQuery(withDomain(call)), nowMs);
        const { domain = null, count: most = DEFAULT_COUNT } = query as { domain?: string; count?: number };
        const looked = await look({ domain, names: null, most, mostProxies: LISTED_PROXIES });
        return { json: quotasView(looked, nowMs) };
      },
    },
    {
      method: 'POST',
      path: '/quotas/read',
      operation: 'readQuota',
      summary: 'Read one bucket that proxies report to this process, by its entries in the body',
      access: 'read',
      body: { type: 'object', properties: SELECTOR },
      answer,
      handle: call => one(fromBody(call), call.nowMs),
    },
    {
      method: 'POST',
      path: '/quotas/explain',
      operation: 'explainQuota',
      summary:
        'Explain what proxies would get of a bucket, whether or not any reports it; nothing is counted',
      access: 'read',
      body: { type: 'object', properties: SELECTOR },
      answer: { description: 'What the bucket would get.', schema: QUOTA_EXPLANATION },
      handle: call => ({ json: explained(sources, call) }),
    },
  ];
}

function explained(sources: QuotaSources | null, call: OperatorCall): object {
  const { domain, entries } = fromBody(call);
  const { explainer } = supported(sources);
  checkBucket(entries);
  const explanation = explainer.explain(domain, entries, Math.floor(call.nowMs));
  if (explanation === null) throw new OperatorProblem('no_rules', 'No rules are loaded yet.');
  return explanationView(explanation);
}

/** A bucket is a map. @throws OperatorProblem */
function checkBucket(entries: Selector['entries']): void {
  const keys = new Set(entries.map(({ key }) => key));
  const detail =
    keys.size < entries.length
      ? 'a bucket has each key once'
      : entries.some(({ value }) => value === '')
        ? 'every entry of a bucket has a value'
        : null;
  if (detail === null) return;
  const errors = [{ pointer: '/entries', code: 'invalid_value', detail: `/entries: ${detail}` }];
  throw new OperatorProblem('validation_failed', `/entries: ${detail}.`, { errors });
}

function supported(sources: QuotaSources | null): QuotaSources {
  if (sources !== null) return sources;
  throw new OperatorProblem(
    'not_supported',
    'The counter store cannot grant quotas: set BACKEND_TYPE to redis or memory.',
  );
}

function withDomain(call: OperatorCall): OperatorCall {
  if (call.query['domain'] !== undefined) return call;
  const detail = 'is missing: `descriptor` needs it';
  const errors = [{ parameter: 'domain', code: 'invalid_parameter', detail }];
  throw new OperatorProblem('invalid_parameter', `The parameter domain ${detail}.`, { errors });
}
