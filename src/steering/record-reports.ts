import type { Logger } from '../base/logger.ts';
import { MAX_RECORDS } from './record.ts';

/** The log warns after this number of successive failures. */
const TOLD_AFTER = 8;

/** The Redis as log lines name it. */
interface ReportedPlace {
  readonly address: string;
  readonly key: string;
}

/** Logs what operators must know about the records in Redis: each state once. */
export class RecordReports {
  readonly #logger: Logger;
  readonly #place: ReportedPlace;
  #failures = 0;
  #isFailing = false;
  #ignored = 0;

  constructor(logger: Logger, place: ReportedPlace) {
    this.#logger = logger;
    this.#place = place;
  }

  /** Number of attempts that failed since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * An attempt to read the records failed.
   * @param matters false if nothing is missed: no record is known, and the counters report that Redis is unavailable
   */
  failed(error: string, matters: boolean): void {
    const forbidden = isForbidden(error);
    if ((++this.#failures < TOLD_AFTER && !forbidden) || this.#isFailing || !matters) return;
    this.#isFailing = true;
    this.#logger.warning(forbidden ? FORBIDDEN : UNAVAILABLE, { ...this.#place, error });
  }

  succeeded(): void {
    this.#failures = 0;
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#logger.info('Steering records are read from Redis again', { ...this.#place });
  }

  /** Redis has an earlier state of the records than this process has read before. */
  lost({ changes, records }: { readonly changes: number; readonly records: number }): void {
    this.#logger.warning(LOST, { ...this.#place, lost_changes: changes, records_left: records });
  }

  /** @param ignored number of records beyond the maximum; 0 for none */
  read(ignored: number): void {
    if (ignored > 0 && this.#ignored === 0) this.#logger.error(TOO_MANY, { ...this.#place, ignored });
    this.#ignored = ignored;
  }
}

/** True if Redis refuses the user, and not only at this moment. */
export function isForbidden(error: string): boolean {
  return /^(?:NOPERM|NOAUTH|WRONGPASS)/.test(error);
}

const UNAVAILABLE =
  'Cannot read steering records from Redis; the overrides, bans and passes that were read last stay active, and ' +
  'cannot be changed. Sluice keeps trying';

const FORBIDDEN =
  'Redis does not let this user read steering records; new overrides, bans and passes do not apply in this process. ' +
  'Allow HGET, HGETALL and TIME for this user and key';

const LOST =
  'Redis has lost changes of steering records, by a failover or a restart; the overrides, bans and passes that it ' +
  'still has apply. Make the lost changes again';

const TOO_MANY = `Redis has more than ${MAX_RECORDS} steering records; the newest ones do not apply`;
