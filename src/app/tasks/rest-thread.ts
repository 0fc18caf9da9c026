import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger, LogLevel } from '../../base/logger.ts';
import type { LastingTask } from '../../base/threads/inside-thread.ts';
import type { Settings } from '../../settings/table.ts';
import { SafeAddresses } from '../../tasks/delivery/worker-url.ts';
import type { VerifiedTokens } from '../../tasks/identity/verified-tokens.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { SignalPorts, Signals } from '../../tasks/model/signals.ts';
import { TaskStatistics } from '../../tasks/model/task-statistics.ts';
import { WorkerNames } from '../../tasks/model/worker-names.ts';
import type { ApiLimits, RestConfig, RestParts } from '../../tasks/rest/http/parts.ts';
import { RestService } from '../../tasks/rest/rest-service.ts';
import { tenantRoutes } from '../../tasks/rest/routes.ts';
import type { FromRestThread } from '../../tasks/rest/threads/messages.ts';
import { serveRest, type ThreadService } from '../../tasks/rest/threads/serve-rest.ts';
import { PullSignals, UsedShares } from '../../tasks/rest/threads/thread-signals.ts';
import type { LimitAsker } from '../../tasks/scheduler/attempts/start-limits.ts';
import { StartLimits } from '../../tasks/scheduler/attempts/start-limits.ts';
import { PullClaims } from '../../tasks/scheduler/pull/pull-claims.ts';
import { PullDesk } from '../../tasks/scheduler/pull/pull-desk.ts';
import { PullLeases } from '../../tasks/scheduler/pull/pull-leases.ts';
import { UsageWriter } from '../../tasks/scheduler/upkeep/usage-writer.ts';
import type { WorkerTester } from '../../tasks/scheduler/workers/worker-tests.ts';
import { type MasterKeys, Sealer } from '../../tasks/sealing/sealer.ts';
import { Directory } from '../../tasks/store/directory.ts';
import { measuredStore } from '../../tasks/store/measured-store.ts';
import { StoreClock } from '../../tasks/store/store-clock.ts';
import type { TaskStore } from '../../tasks/store/task-store.ts';
import { UsageCounts } from '../../tasks/store/usage-counts.ts';
import type { StatsChange } from '../statistics/thread-stats.ts';
import { cursorKey, limitDomains, tenantLimits, workerNetworks } from './tasks-config.ts';
import { openReports } from './thread-reports.ts';
import { openThreadStore } from './thread-store.ts';

/** The `workerData` of a REST thread. */
export interface RestThreadSetup {
  readonly settings: Settings;
  readonly keys: MasterKeys;
  /** Version of this program, for the OpenAPI document. */
  readonly version: string;
  /** Log levels that the process writes. */
  readonly logLevels: readonly LogLevel[];
}

/**
 * Maximum number of pull worker calls that wait for tasks in all threads. A tenant that is alone may use a third of
 * them. Each call holds a connection and a few hundred bytes.
 */
const MAX_WAITING_PULLS = 20_000;

/** Answers calls of the REST interface in this thread, with a store and a pull desk of its own. */
export async function serveTasksRest({ port }: LastingTask, setup: RestThreadSetup): Promise<void> {
  const post = (message: FromRestThread<StatsChange>): void => port.postMessage(message);
  const { logger, stats, reporter } = openReports('tasks_rest', setup.logLevels, post);
  const signals = new Signals();
  const ports = new SignalPorts(signals, []);
  const pullSignals = new PullSignals(ports, systemClock);
  await serveRest({ port, signals: ports, logger }, async (limits, tester, limitAsker) => {
    const { settings } = setup;
    const wanted = (): void => post({ kind: 'store_wanted' });
    const opened = await openThreadStore({ settings, stats, logger, wanted, background: false });
    const statistics = new TaskStatistics(stats, new WorkerNames(settings.tasksMetricsMaxWorkers));
    const usage = new UsageCounts();
    const store = measuredStore(opened.store, { statistics, nowMs: () => performance.now(), usage });
    const usageWriter = new UsageWriter({ store, usage, clock: systemClock, logger });
    const clock = new StoreClock({ store, clock: systemClock, monotonicMs: () => performance.now() });
    const provider = await identityProvider(settings, clock, logger);
    const identities = provider?.identities ?? null;
    const own = { setup, identities, statistics, store, clock, signals, pullSignals, logger };
    const service = threadService({ ...own, limits, tester, limitAsker });
    await store.start();
    await clock.start();
    await service.desk.start();
    await usageWriter.start();
    reporter.start();
    return {
      handler: service.handler,
      listeningOn: service.listeningOn,
      storeConnected: opened.connect,
      storeRefused: opened.refused,
      drain: () => void service.desk.stop(),
      stop: async () => {
        await service.desk.stop();
        pullSignals.stop();
        provider?.stop();
        await usageWriter.stop();
        await clock.stop();
        await store.stop();
        reporter.stop();
      },
    };
  });
}

interface ThreadServiceParts {
  readonly setup: RestThreadSetup;
  readonly identities: VerifiedTokens | null;
  readonly statistics: TaskStatistics;
  readonly store: TaskStore;
  /** The clock of the store. */
  readonly clock: Clock;
  readonly signals: Signals;
  readonly pullSignals: PullSignals;
  readonly limits: ApiLimits;
  readonly tester: WorkerTester;
  readonly limitAsker: LimitAsker;
  readonly logger: Logger;
}

function threadService(parts: ThreadServiceParts): Pick<ThreadService, 'handler' | 'listeningOn'> & {
  readonly desk: PullDesk;
} {
  const {
    setup,
    identities,
    statistics,
    store,
    clock,
    signals,
    pullSignals,
    limits,
    tester,
    limitAsker,
    logger,
  } = parts;
  const { settings, keys, version } = setup;
  const directory = new Directory(store, clock, signals);
  const desk = new PullDesk({
    claims: new PullClaims({
      store,
      directory,
      startLimits: new StartLimits({ asker: limitAsker, clock, logger }),
      statistics,
      clock,
      randomBytes,
      limits: tenantLimits(settings),
    }),
    leases: new PullLeases({ store, directory, signals, statistics, clock, random: Math.random }),
    signals,
    clock,
    maxWaiting: Math.ceil(MAX_WAITING_PULLS / settings.tasksRestThreads),
    callersChanged: waiting => pullSignals.callersChanged(waiting),
  });
  const port = { shown: 0 };
  const rest: RestParts = {
    store,
    directory,
    signals,
    sealer: new Sealer(keys),
    pullDesk: desk,
    tester,
    usedShares: new UsedShares(clock, signals),
    limitAsker,
    apiLimits: limits,
    identities,
    ids: new IdMaker(() => clock.nowMs(), randomBytes),
    clock,
    randomBytes,
    logger,
    config: restConfig(setup, port),
  };
  const handler = new RestService({
    parts: rest,
    limits,
    version,
    routes: tenantRoutes(rest),
    onAnswer: (operation, status) => statistics.httpRequests(operation, status).add(1),
  });
  const listeningOn = (opened: number): void => {
    port.shown = opened;
  };
  return { handler, desk, listeningOn };
}

/** @param port `shown` is set when the port is open, before the first request */
function restConfig({ settings, keys }: RestThreadSetup, port: { readonly shown: number }): RestConfig {
  const isLocal = settings.serviceHost === 'localhost';
  const { networks, ports, allowHttp } = workerNetworks(settings);
  return {
    serviceHost: settings.serviceHost,
    scheme: isLocal ? 'http' : 'https',
    get publicPort() {
      return isLocal ? port.shown : 0;
    },
    signup: settings.accountsSignup,
    operatorToken: settings.accountsOperatorToken,
    tenantHeader: settings.tasksTenantHeader,
    jwt: {
      tenantClaim: settings.tasksJwtTenantClaim,
      autoProvision: settings.tasksJwtAutoProvision,
      defaultRole: settings.tasksJwtDefaultRole,
    },
    urls: { addresses: new SafeAddresses(networks), ports, allowHttp },
    limits: tenantLimits(settings),
    limitDomains: Object.values(limitDomains(settings)).flat(),
    cursorKey: cursorKey(keys),
  };
}

/** The identity provider of the settings, as one thread uses it. */
interface IdentityProvider {
  readonly identities: VerifiedTokens;
  /** Ends a download that is in progress. */
  stop(): void;
}

/** Loads the code for JSON Web Tokens. Returns null without loading it if no provider is configured. */
async function identityProvider(
  settings: Settings,
  clock: Clock,
  logger: Logger,
): Promise<IdentityProvider | null> {
  if (settings.tasksJwtIssuer === '') return null;
  const [{ KeyDownload, ProviderKeys }, { VerifiedTokens }] = await Promise.all([
    import('../../tasks/identity/provider-keys.ts'),
    import('../../tasks/identity/verified-tokens.ts'),
  ]);
  const download = new KeyDownload(settings.tasksJwtJwksUrl, clock);
  const rules = {
    issuer: settings.tasksJwtIssuer,
    audience: settings.tasksJwtAudience,
    tenantClaim: settings.tasksJwtTenantClaim,
    roleClaim: settings.tasksJwtRoleClaim,
  };
  const keys = new ProviderKeys(() => download.read(), clock, logger);
  return { identities: new VerifiedTokens(rules, keys, clock), stop: () => download.stop() };
}
