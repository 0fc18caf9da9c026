import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { RateLimitResponse, RequestDescriptor } from '../../src/messages/client-codec.ts';
import { askOverGrpc, getPage, grpcTo } from '../support/asking.ts';
import { AI_GATEWAY_NODE, AI_GATEWAY_RULES, BACKENDS } from '../support/gateways/ai-gateway.ts';
import {
  type ControlPlane,
  type StartControlPlane,
  startGo,
  startOwn,
} from '../support/gateways/control-planes.ts';
import { type ControllerRule, limitsOf, resourcesOf, sentFor } from '../support/gateways/controller-rules.ts';
import {
  CATALOG,
  ENVOY_GATEWAY_NODE,
  ENVOY_GATEWAY_RULES,
  LISTENER,
  ORDERS,
  TOKENS,
  TRIAL,
} from '../support/gateways/envoy-gateway.ts';
import { controlPlaneMissing } from '../support/grpc-clients.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import type { ConfigMessage } from '../support/xds-messages.ts';

const OK = 1;
const OVER_LIMIT = 2;

/** A ConfigMap as Kubernetes mounts it: all of its files change with one link. */
class ConfigMap {
  readonly directory: string;
  #generation = 0;

  constructor(t: Test, file: string) {
    this.directory = tempDirectory(t);
    symlinkSync(join('..data', file), join(this.directory, file));
  }

  write(file: string, text: string): void {
    const generation = `..${++this.#generation}`;
    mkdirSync(join(this.directory, generation));
    writeFileSync(join(this.directory, generation, file), text);
    symlinkSync(generation, join(this.directory, '..data_tmp'));
    renameSync(join(this.directory, '..data_tmp'), join(this.directory, '..data'));
  }
}

interface Started {
  readonly startPlane: StartControlPlane;
  readonly planes: readonly ControlPlane[];
  readonly overlay: ConfigMap;
}

/** A service with the rules of both gateways, and an overlay that has no entries yet. */
class Gateways {
  readonly service: ServiceProcess;
  envoyGateway: ControlPlane;
  readonly aiGateway: ControlPlane;
  readonly #startPlane: (port: number) => Promise<ControlPlane>;
  readonly #overlay: ConfigMap;
  readonly #client: ReturnType<typeof grpcTo>;

  private constructor(t: Test, service: ServiceProcess, started: Started) {
    this.service = service;
    this.#startPlane = port => started.startPlane(t, ENVOY_GATEWAY_NODE, port);
    [this.envoyGateway, this.aiGateway] = started.planes;
    this.#overlay = started.overlay;
    this.#client = grpcTo(t, service.grpc);
  }

  static async start(t: Test, startPlane: StartControlPlane): Promise<Gateways> {
    const planes = [await startPlane(t, ENVOY_GATEWAY_NODE), await startPlane(t, AI_GATEWAY_NODE)];
    const overlay = new ConfigMap(t, 'overlay.yaml');
    overlay.write('overlay.yaml', 'overlay: []\n');
    const service = await serviceFor(t, {
      fronts: ['grpc', 'debug'],
      env: {
        CONFIG_TYPE: 'GRPC_XDS_SOTW',
        CONFIG_GRPC_XDS_SERVER_URL: planes.map(each => each.address).join(','),
        CONFIG_GRPC_XDS_NODE_ID: `${ENVOY_GATEWAY_NODE},${AI_GATEWAY_NODE}`,
        CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '20ms',
        XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '20ms',
        FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
        // Envoy Gateway sets these as well. They concern rule files, and the overlay does not depend on them.
        RUNTIME_ROOT: '/data',
        RUNTIME_SUBDIRECTORY: 'ratelimit',
        RUNTIME_IGNOREDOTFILES: 'true',
        RUNTIME_WATCH_ROOT: 'false',
        RULES_OVERLAY: overlay.directory,
      },
    });
    return new Gateways(t, service, { startPlane, planes, overlay });
  }

  ask(domain: string, ...descriptors: readonly RequestDescriptor[]): Promise<RateLimitResponse> {
    return askOverGrpc(this.#client, { domain, descriptors, hitsAddend: 0 });
  }

  /** Ends the controller of Envoy Gateway, and starts another one at its address. */
  async restartEnvoyGateway(): Promise<void> {
    const port = Number(this.envoyGateway.address.split(':').at(-1));
    await this.envoyGateway.stop();
    this.envoyGateway = await this.#startPlane(port);
  }

  /** Swaps the overlay. It is active some time later. */
  overlay(text: string): void {
    this.#overlay.write('overlay.yaml', text);
  }

  /** The line of `/rlconfig` for a rule. */
  async rlconfig({ domain, levels }: ControllerRule): Promise<string> {
    const path = levels.map(level =>
      typeof level === 'string' ? `${level}_${level}` : level.filter(Boolean).join('_'),
    );
    const { text } = await getPage(this.service.debug, '/rlconfig');
    const start = `${[domain, ...path].join('.')}: `;
    return text.split('\n').find(line => line.startsWith(start)) ?? '';
  }
}

/** Asks for rules of one domain in one call, and returns the codes: that of the call, then those of the rules. */
async function codes(
  gateways: Gateways,
  rules: readonly ControllerRule[],
  hits: readonly number[] | null = null,
): Promise<number[]> {
  const sent = rules.map((rule, at) => sentFor(rule, hits === null ? null : hits[at]));
  const { overallCode, statuses } = await gateways.ask(rules[0].domain, ...sent);
  return [overallCode, ...statuses.map(status => status.code)];
}

async function plainRules(t: Test, gateways: Gateways): Promise<void> {
  t.equal(await gateways.envoyGateway.publish(resourcesOf(ENVOY_GATEWAY_RULES)), null);
  t.equal(await gateways.aiGateway.publish(resourcesOf(AI_GATEWAY_RULES)), null);

  await t.test('each rule has the limit of its policy, for what Envoy sends', async t => {
    for (const rule of [...ENVOY_GATEWAY_RULES, ...AI_GATEWAY_RULES]) {
      const answer = await gateways.ask(rule.domain, sentFor(rule));
      t.same(limitsOf(answer), [rule.limit], rule.policy);
      t.equal(answer.overallCode, OK, rule.policy);
    }
  });

  await t.test(
    'a limit of the request, which a policy takes from metadata, replaces that of the rule',
    async t => {
      const limit = { requestsPerUnit: 77, unit: 4 };
      t.same(limitsOf(await gateways.ask(LISTENER, { ...sentFor(ORDERS), limit })), [[77, 'day']]);
    },
  );

  await t.test('shadow mode on every level refuses nothing', async t => {
    t.same(await codes(gateways, [TRIAL]), [OK, OK]);
    t.match((await gateways.ask(LISTENER, sentFor(TRIAL))).statuses, [{ limitRemaining: 0 }]);
  });

  await t.test('tokens are charged when a request has ended, and refuse the next one', async t => {
    const left = (await gateways.ask(LISTENER, sentFor(TOKENS[0], 0))).statuses[0].limitRemaining;
    t.same(await codes(gateways, TOKENS, [0, 0, 0]), [OK, OK, OK, OK]);
    await codes(gateways, TOKENS, [left, 20, 20 + left]);
    t.same(await codes(gateways, TOKENS, [0, 0, 0]), [OK, OK, OK, OK], 'all tokens are used, none too many');
    await codes(gateways, TOKENS, [1, 0, 1]);
    t.same(await codes(gateways, TOKENS, [0, 0, 0]), [OVER_LIMIT, OVER_LIMIT, OK, OK]);
  });

  await t.test('a quota refuses a request when all of its backends are used up', async t => {
    await codes(gateways, [BACKENDS[0]], [20]);
    t.same(await codes(gateways, BACKENDS, [0, 0]), [OK, OVER_LIMIT, OK]);
    await codes(gateways, [BACKENDS[1]], [20]);
    t.same(await codes(gateways, BACKENDS, [0, 0]), [OVER_LIMIT, OVER_LIMIT, OVER_LIMIT]);
  });
}

async function overlaidRules(t: Test, gateways: Gateways): Promise<void> {
  gateways.overlay(`overlay:
  - domain: ${LISTENER}
    path: "httproute/shop/orders/*/rule-0-match-0"
    rate_limit: { window: 5m, algorithm: sliding_window }
  - domain: "*"
    path: "httproute/shop/chat/*/rule-2-match-0"
    rate_limit: { calendar: { period: month, zone: Europe/Berlin }, requests_per_unit: 50000000 }
  - domain: ${LISTENER}
    path: "httproute/shop/catalog/*/rule-0-match--1"
    rate_limits:
      - { unit: minute, requests_per_unit: 1000 }
      - { unit: day, requests_per_unit: 3 }
  - domain: ai-gateway-quota
    path: "*=shop/openai/*=gpt-4/rule-1-x-user-match-0"
    rate_limit: { calendar: { period: day, zone: UTC }, name: daily }
`);
  await until(async () => (await gateways.rlconfig(ORDERS)).includes('overlay'));

  await t.test('a window of five minutes for one route', async t => {
    t.match(await gateways.rlconfig(ORDERS), / window=5m requests_per_unit=5,.* algorithm: sliding_window,/);
    const { statuses } = await gateways.ask(LISTENER, sentFor(ORDERS));
    t.ok(statuses[0].durationUntilReset! <= 300);
  });

  await t.test('a budget of tokens for a month of the calendar', async t => {
    const budget = TOKENS[2];
    t.match(await gateways.rlconfig(budget), /calendar.*Europe\/Berlin/);
    t.same(await codes(gateways, [budget], [20_000_000]), [OK, OK]);
    t.match((await gateways.ask(LISTENER, sentFor(budget, 0))).statuses, [{ limitRemaining: 30_000_000 }]);
  });

  await t.test('several limits in place of one', async t => {
    for (const code of [OK, OK, OK, OVER_LIMIT]) t.same(await codes(gateways, [CATALOG]), [code, code]);
  });

  await t.test('a rule of the other gateway', async t => {
    const rule = AI_GATEWAY_RULES.find(({ levels }) => levels.at(-1)?.[0] === 'rule-1-x-user-match-0')!;
    const { statuses } = await gateways.ask(rule.domain, sentFor(rule));
    t.match(statuses, [{ currentLimit: { name: 'daily', requestsPerUnit: 50 } }]);
  });
}

/** Rules of which two have this number of requests. */
function withRequests(requests: number): ConfigMessage[] {
  return resourcesOf(
    ENVOY_GATEWAY_RULES.map(rule =>
      rule === CATALOG || rule === ORDERS ? { ...rule, limit: [requests, rule.limit[1]] } : rule,
    ),
  );
}

/** An overlay that gives the same two rules this name. */
const withName = (name: string): string => `overlay:
  - { domain: ${LISTENER}, path: "*/catalog/*/rule-0-match--1", rate_limit: { name: ${name} } }
  - { domain: ${LISTENER}, path: "*/orders/*/rule-0-match-0", rate_limit: { name: ${name} } }
`;

async function changes(t: Test, gateways: Gateways): Promise<void> {
  /** The number of requests and the name of both rules, in one call. */
  const ask = async (): Promise<string[]> => {
    const { statuses } = await gateways.ask(LISTENER, sentFor(CATALOG), sentFor(ORDERS));
    return statuses.map(({ currentLimit: limit }) => `${limit?.requestsPerUnit} ${limit?.name}`);
  };
  gateways.overlay(withName('name-0'));
  t.equal(await gateways.envoyGateway.publish(withRequests(1000)), null);
  await until(async () => (await ask())[0] === '1000 name-0');

  await t.test('no call is decided by half of a change', async t => {
    const seen = new Set<string>();
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
      while (!isOver) seen.add((await ask()).join(' | '));
    });
    for (let round = 1; round <= 12; round++) {
      gateways.overlay(withName(`name-${round}`));
      t.equal(await gateways.envoyGateway.publish(withRequests(1000 + round)), null);
    }
    await until(async () => (await ask())[0] === '1012 name-12');
    isOver = true;
    await Promise.all(callers);
    for (const each of seen) t.match(each, /^(10[01]\d name-\d+) \| \1$/);
    t.ok(seen.size > 3, `${seen.size} combinations were seen`);
  });

  await t.test(
    'rules with a fault are rejected and change nothing, and the next ones are accepted',
    async t => {
      const [one, ...others] = withRequests(2000);
      const twice = [one, { ...one, name: 'again' }, ...others];
      t.match(await gateways.envoyGateway.publish(twice), /the domain "shop\/edge\/http" is already defined/);
      t.same(await ask(), Array(2).fill('1012 name-12'));
      t.equal(await gateways.envoyGateway.publish(withRequests(2001)), null);
      t.same(await ask(), Array(2).fill('2001 name-12'));
    },
  );

  await t.test(
    'a controller that starts again counts its versions from 1, and its rules are loaded',
    async t => {
      for (const requests of [3000, 3001]) {
        await gateways.restartEnvoyGateway();
        t.equal(await gateways.envoyGateway.publish(withRequests(requests)), null);
        t.same(await ask(), Array(2).fill(`${requests} name-12`));
      }
    },
  );

  await t.test('without policies there are no rules', async t => {
    t.equal(await gateways.envoyGateway.publish([]), null);
    t.same(await ask(), Array(2).fill('undefined undefined'));
  });
}

for (const [server, startPlane, skip] of [
  ['the xDS server of the tests', startOwn, false],
  ['go-control-plane', startGo, controlPlaneMissing()],
] as const) {
  t.test(`rules of Envoy Gateway and Envoy AI Gateway from ${server}`, { skip }, async t => {
    const gateways = await Gateways.start(t, startPlane);
    await t.test('as the controllers send them', t => plainRules(t, gateways));
    await t.test('with an overlay', t => overlaidRules(t, gateways));
    await t.test('changes of both', t => changes(t, gateways));
  });
}
