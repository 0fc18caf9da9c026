import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { LastingTask } from '../../base/threads/inside-thread.ts';
import type { Settings } from '../../settings/table.ts';
import type { VerifiedTokens } from '../../tasks/identity/verified-tokens.ts';
import { IdMaker } from '../../tasks/model/ids.ts';
import { SignalPorts, Signals } from '../../tasks/model/signals.ts';
import type { RestParts } from '../../tasks/rest/http/parts.ts';
import { RestService } from '../../tasks/rest/rest-service.ts';
import { tenantRoutes } from '../../tasks/rest/routes.ts';
import type { FromRestThread } from '../../tasks/rest/threads/messages.ts';
import { serveRest } from '../../tasks/rest/threads/serve-rest.ts';
import { PullSignals, UsedShares } from '../../tasks/rest/threads/thread-signals.ts';
import { StartLimits } from '../../tasks/scheduler/attempts/start-limits.ts';
import { PullClaims } from '../../tasks/scheduler/pull/pull-claims.ts';
import { PullDesk } from '../../tasks/scheduler/pull/pull-desk.ts';
import { PullLeases } from '../../tasks/scheduler/pull/pull-leases.ts';
import { UsageWriter } from '../../tasks/scheduler/upkeep/usage-writer.ts';
import type { MasterKeys } from '../../tasks/sealing/sealer.ts';
import { insideThread } from '../surroundings.ts';
import { openTasks } from './open-tasks.ts';
import { restConfig } from './tasks-config.ts';

/** The `workerData` of a REST thread. */
export interface RestThreadSetup {
  readonly settings: Settings;
  readonly keys: MasterKeys;
  /** Version of this program, for the OpenAPI document. */
  readonly version: string;
}

/**
 * Maximum number of pull worker calls that wait for tasks in all threads. A tenant that is alone may use a third of
 * them. Each call holds a connection and a few hundred bytes.
 */
const MAX_WAITING_PULLS = 20_000;

/** Answers calls of the REST interface in this thread, with a store and a pull desk of its own. */
export async function serveTasksRest(task: LastingTask, setup: RestThreadSetup): Promise<void> {
  const { port } = task;
  const { settings, keys, version } = setup;
  const thread = insideThread<FromRestThread>('tasks_rest', settings, task);
  const { clock: systemClock, logger, reporter } = thread;
  const signals = new Signals();
  const ports = new SignalPorts(signals, []);
  const pullSignals = new PullSignals(ports, systemClock);
  await serveRest(port, ports, logger, async (apiLimits, tester, limitAsker) => {
    const opened = await openTasks(thread, signals, keys, false);
    const { tasks, usage } = opened;
    const { store, clock, statistics } = tasks;
    const usageWriter = new UsageWriter({ store, clock: systemClock, logger }, usage);
    const provider = await identityProvider(settings, clock, logger);
    const desk = new PullDesk(
      tasks,
      new PullClaims(tasks, new StartLimits(tasks, limitAsker)),
      new PullLeases(tasks),
      Math.ceil(MAX_WAITING_PULLS / settings.tasksRestThreads),
      waiting => pullSignals.callersChanged(waiting),
    );
    const shownPort = { shown: 0 };
    const parts: RestParts = {
      ...tasks,
      pullDesk: desk,
      tester,
      usedShares: new UsedShares(clock, signals),
      limitAsker,
      apiLimits,
      identities: provider?.identities ?? null,
      ids: new IdMaker(() => clock.nowMs(), randomBytes),
      config: restConfig(settings, keys, shownPort),
    };
    await opened.start();
    await desk.start();
    await usageWriter.start();
    reporter.start();
    return {
      handler: new RestService({
        parts,
        limits: apiLimits,
        version,
        routes: tenantRoutes(parts),
        onAnswer: (operation, status) => statistics.httpRequests(operation, status).add(1),
      }),
      listeningOn: number => {
        shownPort.shown = number;
      },
      storeConnected: opened.connect,
      storeRefused: opened.refused,
      drain: () => void desk.stop(),
      stop: async () => {
        await desk.stop();
        pullSignals.stop();
        provider?.stop();
        await usageWriter.stop();
        await opened.stop();
        reporter.stop();
      },
    };
  });
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
