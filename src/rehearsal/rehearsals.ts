import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { asError } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { LoadSettings } from '../rules/parse/load.ts';
import {
  type LoadOutcome,
  type RuleFault,
  type RuleFile,
  type RuleSetLoader,
  RuleSetRefused,
} from '../rules/rule-set.ts';
import { Rehearsal } from './rehearsal.ts';
import type { RehearsalPublisher } from './rehearsal-channel.ts';
import { type RehearsalReport, reportOf } from './report.ts';

interface RehearsalsParts {
  /** Returns null when the service stops. Rejects with RuleSetRefused, or if the rules could not be compiled. */
  readonly compile: (
    files: readonly RuleFile[],
    settings: LoadSettings,
  ) => Promise<{ readonly rules: CompiledRules } | null>;
  readonly publisher: RehearsalPublisher;
  readonly settings: LoadSettings;
  /** Replaces the active rules by those of files. Rejects with RehearsalRefused if that is not possible. */
  readonly install: (files: readonly RuleFile[]) => Promise<void>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly logger: Logger;
}

/** Candidate rules, before or during their rehearsal. */
interface Candidate {
  /** Identifies the files: the beginning of a hash of their names and contents. */
  readonly id: string;
  /** Where the files are from, for people. */
  readonly source: string;
  readonly files: readonly RuleFile[];
  /** The share of keys that is decided. */
  readonly share: number;
  readonly startedMs: number;
  /** Null if the rules have faults. */
  readonly rehearsal: Rehearsal | null;
  /** Why there is no rehearsal. */
  readonly reasons: readonly string[];
  readonly faults: readonly RuleFault[];
}

/** What operators see of the candidate rules; null if there are none. */
export interface RehearsalView extends Omit<Candidate, 'files' | 'rehearsal'> {
  readonly rules: CompiledRules | null;
  /** Null if the rules have faults. */
  readonly report: RehearsalReport | null;
}

/** A step that is not possible now. The message says why. */
export class RehearsalRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RehearsalRefused';
  }
}

/**
 * The rehearsal of the process: compiles candidate rules and has all threads decide them in shadow. There is at most one; a
 * new candidate replaces it.
 */
export class Rehearsals implements RuleSetLoader {
  readonly #parts: RehearsalsParts;
  #number = 0;
  #candidate: Candidate | null = null;
  /** Candidates are compiled and promoted one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  /** Number of calls of {@link stop}: candidates that were waiting or compiled at that time are dropped. */
  #stops = 0;
  /** Of `RUNTIME_CANDIDATE`. */
  #directory = '';

  constructor(parts: RehearsalsParts) {
    this.#parts = parts;
  }

  /** Names the directory of the files that {@link load} receives. */
  from(directory: string): void {
    this.#directory = directory;
  }

  /** Receives the files of `RUNTIME_CANDIDATE`. Without files, there is no candidate. */
  async load(files: readonly RuleFile[]): Promise<LoadOutcome> {
    if (files.length === 0) this.stop();
    else await this.begin(files, { source: this.#directory, share: 1 });
    const reasons = this.#candidate?.reasons ?? [];
    return reasons.length === 0 ? { kind: 'active' } : { kind: 'refused', reasons };
  }

  /** The directory of the candidate is missing or cannot be read. */
  refuse(reasons: readonly string[]): void {
    this.stop();
    this.#parts.logger.info('There are no candidate rules to rehearse', { reason: reasons.join('; ') });
  }

  /** Compiles candidate rules and begins their rehearsal, or remembers their faults. */
  begin(
    files: readonly RuleFile[],
    { source, share }: { readonly source: string; readonly share: number },
  ): Promise<void> {
    // In the order in which a directory is read, because the order matters if domains are merged.
    const named = files.map(file => ({ ...file, name: basename(file.name) })).sort(byName);
    const stops = this.#stops;
    return this.#inTurn(() =>
      this.#begin({ files: named, source, share }, { isWanted: () => stops === this.#stops }),
    );
  }

  /** Begins again with the same rules, and with empty counters and figures. */
  restart(): void {
    const { rehearsal, ...candidate } = this.#candidate ?? none();
    if (rehearsal === null)
      throw new RehearsalRefused('The candidate rules have faults; correct them first.');
    this.#publish(candidate, rehearsal.rules);
  }

  /** Ends the rehearsal, if there is one. Returns the id of its candidate. */
  stop(): string | null {
    this.#stops++;
    return this.#end();
  }

  /**
   * Makes the candidate rules the active ones, by replacing the rule files, and ends the rehearsal. Candidates that are
   * being compiled come first.
   *
   * @param id the candidate that the operator has seen
   * @throws (rejects with) RehearsalRefused
   */
  promote(id: string): Promise<void> {
    return this.#inTurn(() => this.#promote(id));
  }

  async #promote(id: string): Promise<void> {
    const { rehearsal, files, id: present } = this.#candidate ?? none();
    if (present !== id) {
      throw new RehearsalRefused(
        `The candidate rules have changed: they are ${present} now. Look at their rehearsal before you promote them.`,
      );
    }
    if (rehearsal === null)
      throw new RehearsalRefused('The candidate rules have faults; correct them first.');
    await this.#parts.install(files);
    this.#parts.logger.info('Candidate rules were promoted', { id, files: files.length });
    if (this.#candidate?.id === id) this.#end();
  }

  /** @param count maximum number of limits */
  async view(count: number): Promise<RehearsalView | null> {
    if (this.#candidate === null) return null;
    const { files: _, rehearsal, ...candidate } = this.#candidate;
    return {
      ...candidate,
      rules: rehearsal?.rules ?? null,
      report: rehearsal === null ? null : await reportOf(rehearsal, count),
    };
  }

  #end(): string | null {
    const { id = null } = this.#candidate ?? {};
    this.#candidate = null;
    this.#parts.publisher.publish(null);
    return id;
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(run);
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #begin(
    { files, source, share }: Pick<Candidate, 'files' | 'source' | 'share'>,
    { isWanted }: { readonly isWanted: () => boolean },
  ): Promise<void> {
    if (!isWanted()) return;
    const { compile, settings, clock } = this.#parts;
    const startedMs = clock.nowMs();
    const candidate = { id: idOf(files), source, files, share, startedMs, reasons: [], faults: [] };
    try {
      const compiled = await compile(files, settings);
      if (compiled !== null && isWanted()) this.#publish(candidate, compiled.rules);
    } catch (failure) {
      if (!isWanted()) return;
      const faults = failure instanceof RuleSetRefused ? failure.faults : [];
      this.#parts.publisher.publish(null);
      this.#candidate = { ...candidate, rehearsal: null, faults, reasons: [asError(failure).message] };
      this.#parts.logger.warning('The candidate rules have faults and are not rehearsed', {
        source,
        fault: asError(failure).message.split('\n')[0],
        faults: Math.max(faults.length, 1),
      });
    }
  }

  #publish(candidate: Omit<Candidate, 'rehearsal'>, rules: CompiledRules): void {
    const { publisher, clock, logger } = this.#parts;
    const rehearsal = Rehearsal.begin(++this.#number, rules, candidate.share);
    this.#candidate = { ...candidate, startedMs: clock.nowMs(), rehearsal };
    publisher.publish(rehearsal);
    const { id, source, share } = candidate;
    logger.info('Candidate rules are rehearsed', { id, source, share, limits: rules.limitCount });
  }
}

function none(): never {
  throw new RehearsalRefused(
    'There are no candidate rules. Set RUNTIME_CANDIDATE, or use "sluice rehearse DIR".',
  );
}

function byName(a: RuleFile, b: RuleFile): number {
  return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}

function idOf(files: readonly RuleFile[]): string {
  const hash = createHash('sha256');
  for (const { name, content } of files) hash.update(`${name}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, 12);
}
