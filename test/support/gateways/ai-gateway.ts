import type { ControllerRule, Level } from './controller-rules.ts';

/** The node id that the controller sends rules to. */
export const AI_GATEWAY_NODE = 'envoy-ai-gateway-ratelimit';

/** The only domain, and the name of the only resource. */
const DOMAIN = 'ai-gateway-quota';

function model(backend: string, name: string): readonly Level[] {
  return [
    ['backend_name', `shop/${backend}`],
    ['model_name_override', name],
  ];
}

/** One budget for a model of two backends: a request that may go to either is refused once both are used up. */
export const BACKENDS: readonly ControllerRule[] = ['local', 'remote'].map(backend => ({
  policy: `a model of the backend ${backend}`,
  domain: DOMAIN,
  levels: model(backend, 'llama'),
  limit: [10, 'hour'],
  marks: { quota_mode: true },
}));

/** Rules as Envoy AI Gateway makes them of its QuotaPolicies: marks are on the last level only. */
export const AI_GATEWAY_RULES: readonly ControllerRule[] = [
  ...BACKENDS,
  {
    policy: 'a bucket for requests with a header, in shadow mode',
    domain: DOMAIN,
    levels: [...model('openai', 'gpt-4'), 'rule-0-x-tier|gold-match-0'],
    limit: [200, 'minute'],
    marks: { quota_mode: true, shadow_mode: true },
  },
  {
    policy: 'a bucket for each value of a header',
    domain: DOMAIN,
    levels: [...model('openai', 'gpt-4'), ['rule-1-x-user-match-0', '']],
    limit: [50, 'minute'],
    marks: { quota_mode: true },
    sent: [...model('openai', 'gpt-4'), ['rule-1-x-user-match-0', 'ann']],
  },
  {
    policy: 'a bucket for headers that match regular expressions, which rule files would read as wildcards',
    domain: DOMAIN,
    levels: [...model('openai', 'gpt-4'), 'rule-2-x-app|.*-match-0', 'rule-2-x-tenant|acme-.*-match-1'],
    limit: [70, 'minute'],
    marks: { quota_mode: true },
  },
  {
    policy: 'the default bucket of a model with others',
    domain: DOMAIN,
    levels: [...model('openai', 'gpt-4'), 'rule-3-match--1'],
    limit: [1000, 'hour'],
    marks: { quota_mode: true },
  },
  {
    policy: 'any other model of a service',
    domain: DOMAIN,
    levels: model('openai', ''),
    limit: [5000, 'day'],
    marks: { quota_mode: true },
    sent: model('openai', 'gpt-4-mini'),
  },
];
