import { randomBytes } from 'node:crypto';
import { readSecret } from '../../base/files/auth-file.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { BatchObserver } from '../../decision/batch-observer.ts';
import { SharedRate } from '../../decision/decision-log/shared-rate.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { Surroundings } from '../surroundings.ts';
import { LogFile } from './log-file.ts';
import { type DecisionLogSharing, openDecisionLogger } from './open-decision-logger.ts';

const HASH_KEY_BYTES = 32;

/**
 * Writes the decision log of all threads, in the primary thread. Nothing waits for the writing: records that the file or
 * standard error does not accept are dropped and counted.
 */
export class DecisionLog implements Service {
  readonly name = 'decision log';
  readonly sharing: DecisionLogSharing;
  /** Writes lines, each with its line feed. */
  readonly write: (lines: string) => void;
  readonly #file: LogFile | null;

  /** @param writeLine writes a line to standard error; false if it was dropped because standard error is not being read */
  constructor(
    { settings, stats, clock, logger }: Omit<Surroundings, 'random'>,
    sharing: DecisionLogSharing,
    writeLine: (line: string) => boolean,
  ) {
    const written = stats.counter('ratelimit.decision_log.written');
    const dropped = stats.counter('ratelimit.decision_log.dropped_by_output');
    const { decisionLogFile: path } = settings;
    const file = path === '' ? null : new LogFile(path, written, dropped, clock, logger);
    this.sharing = sharing;
    this.#file = file;
    this.write =
      file === null
        ? lines => {
            for (const line of lines.match(/.*\n/g) ?? []) (writeLine(line) ? written : dropped).add(1);
          }
        : lines => file.write(lines);
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    await this.#file?.stop();
  }
}

/** The decision log, and what logs the decisions of the primary thread. */
export interface OpenedDecisionLog {
  readonly log: DecisionLog;
  readonly observer: BatchObserver;
}

/**
 * Prepares the decision log. The function that it returns opens the log, with the statistics of the process.
 *
 * @param writeLine see {@link DecisionLog}
 * @throws Error that names the setting, if the file with the secret of the hashes cannot be read
 */
export async function openDecisionLog(
  primary: Pick<Surroundings, 'settings' | 'clock' | 'logger'>,
  writeLine: (line: string) => boolean,
): Promise<(stats: StatsRegistry) => OpenedDecisionLog> {
  const { settings } = primary;
  const hashKey = settings.decisionLogHashKeys ? await hashKeyOf(settings) : null;
  const sharing = { rate: SharedRate.memory(), hashKey };
  return stats => {
    const log = new DecisionLog({ ...primary, stats }, sharing, writeLine);
    return { log, observer: openDecisionLogger({ settings, sharing, stats, write: log.write }) };
  };
}

async function hashKeyOf(settings: Settings): Promise<Uint8Array> {
  const { decisionLogHashSecret: secret, decisionLogHashSecretFile: path } = settings;
  if (path !== '') return Buffer.from(await readSecret(path, 'DECISION_LOG_HASH_SECRET_FILE', 'the secret'));
  return secret === '' ? randomBytes(HASH_KEY_BYTES) : Buffer.from(secret);
}
