import type { ControllerRule } from './controller-rules.ts';

/** The node id that the controller sends rules to. */
export const ENVOY_GATEWAY_NODE = 'envoy-ratelimit';

/** Domain of rules that are not shared: namespace, gateway and listener. */
export const LISTENER = 'shop/edge/http';
/** Domain of the shared rules of a policy: its namespace and name. */
const POLICY = 'shop/tenants';

function route(name: string, host = 'api_shop_example'): string {
  return `httproute/shop/${name}/rule/0/match/0/${host}`;
}

/** A rule for all requests, which controllers number as if it were the match before the first. */
export const CATALOG: ControllerRule = {
  policy: 'all requests of a route, for any host',
  domain: LISTENER,
  levels: [route('catalog', '*'), 'rule-0-match--1'],
  limit: [100, 'minute'],
};

export const ORDERS: ControllerRule = {
  policy: 'requests with a certain header',
  domain: LISTENER,
  levels: [route('orders'), 'rule-0-match-0'],
  limit: [5, 'hour'],
};

/** Without effect, and with a limit that two requests exceed. */
export const TRIAL: ControllerRule = {
  policy: 'headers and an address in shadow mode',
  domain: LISTENER,
  levels: [route('trial'), 'rule-0-match-0', 'rule-0-match-1', ['masked_remote_address', '0.0.0.0/0']],
  limit: [1, 'day'],
  isShadowOnEveryLevel: true,
};

/** Budgets of a tenant for tokens: input, output and all. Requests cost nothing; tokens are charged when they end. */
export const TOKENS: readonly ControllerRule[] = [10, 100, 1000].map((budget, rule) => ({
  policy: `tokens of each tenant, budget ${budget}`,
  domain: LISTENER,
  levels: [route('chat'), [`rule-${rule}-match-0`, '']],
  limit: [budget, 'hour'],
  sent: [route('chat'), [`rule-${rule}-match-0`, 'acme']],
}));

/** Rules as Envoy Gateway makes them of its BackendTrafficPolicies. */
export const ENVOY_GATEWAY_RULES: readonly ControllerRule[] = [
  CATALOG,
  {
    policy: 'the largest number that a policy can have',
    domain: LISTENER,
    levels: [route('catalog', '*'), 'rule-1-match-0'],
    limit: [4_294_967_295, 'second'],
  },
  ORDERS,
  {
    policy: 'the same route on another listener',
    domain: 'shop/edge/https',
    levels: [route('orders'), 'rule-0-match-0'],
    limit: [6, 'hour'],
  },
  {
    policy: 'each value of a header',
    domain: LISTENER,
    levels: [route('orders'), ['rule-1-match-0', '']],
    limit: [50, 'day'],
    sent: [route('orders'), ['rule-1-match-0', 'ann/1, *']],
  },
  {
    policy: 'addresses of a network together',
    domain: LISTENER,
    levels: [route('orders'), ['masked_remote_address', '10.0.0.0/8']],
    limit: [1000, 'hour'],
  },
  {
    policy: 'each address of a network',
    domain: LISTENER,
    levels: [route('orders'), ['masked_remote_address', '192.168.0.0/16'], ['remote_address', '']],
    limit: [20, 'hour'],
    sent: [route('orders'), ['masked_remote_address', '192.168.0.0/16'], ['remote_address', '192.168.3.7']],
  },
  {
    policy: 'addresses outside of a network',
    domain: LISTENER,
    levels: [route('orders'), ['masked_remote_address', 'invert:192.168.0.0/24']],
    limit: [300, 'hour'],
  },
  {
    policy: 'headers, a method, a path and an address: six levels below the route',
    domain: LISTENER,
    levels: [
      route('checkout'),
      'rule-0-match-0',
      'rule-0-match-1',
      'rule-0-match-2',
      'rule-0-method',
      'rule-0-path',
      ['masked_remote_address', '0.0.0.0/0'],
    ],
    limit: [7, 'day'],
  },
  {
    policy: 'a header, and each value of a query parameter',
    domain: LISTENER,
    levels: [route('search'), 'rule-0-match-0', ['rule-0-match-1', '']],
    limit: [30, 'day'],
    sent: [route('search'), 'rule-0-match-0', ['rule-0-match-1', 'shoes']],
  },
  {
    policy: 'methods, which have one counter',
    domain: LISTENER,
    levels: [route('search'), 'rule-1-method'],
    limit: [500, 'minute'],
  },
  {
    policy: 'a path',
    domain: LISTENER,
    levels: [route('search'), 'rule-2-path'],
    limit: [50, 'minute'],
  },
  ...(['week', 'month', 'year'] as const).map(
    (unit, rule): ControllerRule => ({
      policy: `a ${unit}`,
      domain: LISTENER,
      levels: [route('reports'), `rule-${rule}-match-0`],
      limit: [rule + 1, unit],
    }),
  ),
  ...(
    [
      ['', 'client-x', 10],
      ['client-a', 'client-a', 15],
      ['client-b', 'client-b', 20],
    ] as const
  ).map(
    ([value, client, limit]): ControllerRule => ({
      policy: `overrides of single values: ${client}`,
      domain: LISTENER,
      levels: [route('partners'), ['rule-0-match-0', value]],
      limit: [limit, 'hour'],
      sent: [route('partners'), ['rule-0-match-0', client]],
    }),
  ),
  {
    policy: 'statistics of each value',
    domain: LISTENER,
    levels: [route('partners'), ['rule-1-match-0', '']],
    limit: [40, 'hour'],
    marks: { detailed_metric: true },
    sent: [route('partners'), ['rule-1-match-0', 'client.a']],
  },
  TRIAL,
  ...TOKENS,
  {
    policy: 'each tenant, shared by all routes of a policy',
    domain: POLICY,
    levels: [`${POLICY}/rule/0`, ['rule-0-match-0', '']],
    limit: [200, 'minute'],
    sent: [`${POLICY}/rule/0`, ['rule-0-match-0', 'acme']],
  },
  {
    // Numbers of a level count shared rules, those of the first one all rules of the policy.
    policy: 'the third rule of the policy, which is the second that is shared',
    domain: POLICY,
    levels: [`${POLICY}/rule/2`, 'rule-1-match-0'],
    limit: [60, 'minute'],
  },
  {
    policy: 'a shared rule with a name',
    domain: POLICY,
    levels: [`${POLICY}/rule/by-user`, ['rule-match-0', '']],
    limit: [9, 'day'],
    sent: [`${POLICY}/rule/by-user`, ['rule-match-0', 'ann']],
  },
];
