import { createLogger, type ProcessLogger } from '../../app/logging/logging.ts';
import type { StartedAt } from '../../app/service.ts';
import { describeStore, describeTaskStore } from '../../app/stores/store-text.ts';
import { asError } from '../../base/fault.ts';
import { packageVersion } from '../../base/package.ts';
import { SettingsRefused } from '../../settings/faults.ts';
import type { Settings } from '../../settings/table.ts';
import { type CliIo, CommandFault } from '../terminal/io.ts';
import { commandsToTry } from './quickstart.ts';

/**
 * Reports the addresses of the service and its store: on a terminal and in the quick start as text on standard output,
 * otherwise as one log line, at every log level.
 */
export function reportReady(
  io: CliIo,
  { settings, logger }: { readonly settings: Settings; readonly logger: ProcessLogger },
  { at, quickstart }: { readonly at: StartedAt; readonly quickstart: boolean },
): void {
  if (settings.logFormat === 'text' && (io.isTerminal || quickstart)) {
    io.stdout(banner(settings, at, quickstart));
    return;
  }
  logger.announce('Sluice is ready', {
    version: packageVersion(),
    grpc: at.grpc,
    http: at.http,
    serve_threads: at.serveThreads ?? undefined,
    debug: at.debug ?? 'closed',
    metrics: at.metrics === undefined ? undefined : (at.metrics ?? 'closed'),
    store: describeStore(settings),
    tasks: settings.tasksEnabled ? describeTaskStore(settings) : undefined,
  });
}

function banner(settings: Settings, at: StartedAt, quickstart: boolean): string {
  const { serveThreads: threads } = at;
  const lines = [
    `Sluice ${packageVersion()} is ready:`,
    `  gRPC     ${at.grpc}${threads === null ? '' : `  (on ${threads} threads)`}`,
    `  HTTP     http://${at.http}  (/json, /check, /healthcheck)`,
    at.debug === null
      ? '  debug    closed: the port could not be opened; see the log'
      : `  debug    http://${at.debug}  (live page, /stats, /rlconfig, /debug/pprof/)`,
  ];
  if (at.metrics === null) lines.push('  metrics  closed: the port could not be opened; see the log');
  else if (at.metrics !== undefined) lines.push(`  metrics  http://${at.metrics}${settings.prometheusPath}`);
  lines.push(`  store    ${describeStore(settings)}`);
  if (settings.tasksEnabled)
    lines.push(`  tasks    on the HTTP port; stored in ${describeTaskStore(settings)}`);
  const text = `${lines.join('\n')}\n`;
  return quickstart ? `${text}\n${commandsToTry(at)}\nCtrl-C stops it.\n` : text;
}

/** Log messages and their texts for people. */
const TEXTS = {
  'Sluice cannot start': 'the service could not start',
  'Sluice did not shut down cleanly': 'the service did not shut down cleanly',
} as const;

/** The service could not start, or could not shut down as it should. */
export class ServeFault extends CommandFault {
  /** The cause. */
  readonly reason: string;
  /** The log message. */
  readonly event: string;

  constructor(event: keyof typeof TEXTS, cause: unknown) {
    const reason = reasonOf(cause);
    super(`${TEXTS[event]}: ${reason}`, { cause });
    this.event = event;
    this.reason = reason;
  }
}

/** The message of the failure; all messages if several things failed. */
function reasonOf(failure: unknown): string {
  if (failure instanceof AggregateError) return failure.errors.map(reasonOf).join('; ');
  return asError(failure).message;
}

/**
 * Reports why `serve` failed: as text, or as log lines if LOG_FORMAT is `json`. LOG_FORMAT is read from the environment,
 * and the log level is ignored, because the settings themselves may be invalid.
 */
export function reportFailure(io: CliIo, failure: unknown): void {
  if (io.env['LOG_FORMAT']?.toLowerCase() !== 'json') {
    if (!(failure instanceof CommandFault)) throw failure;
    io.stderr(`sluice serve: ${failure.message}\n`);
    return;
  }
  const logger = createLogger({ level: 'error', format: 'json', write: line => io.stderr(line) });
  if (!(failure instanceof ServeFault)) {
    logger.error('Sluice failed (this is a bug; please report it)', { error: asError(failure).stack });
    return;
  }
  const { cause, event, reason } = failure;
  if (!(cause instanceof SettingsRefused)) {
    logger.error(event, { reason });
    return;
  }
  for (const { given, problem, accepted } of cause.faults) {
    logger.error('Invalid setting', { setting: given.join(' and '), problem, accepted });
  }
  for (const { message, fields } of cause.hints) logger.error(message, fields);
  logger.error(event, { reason: 'the settings are invalid', faults: cause.faults.length });
}
