import { join } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { DirectoryWatch, WatchRetry } from '../../base/files/directory-watch.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { RuleFile, RuleSetLoader } from '../rule-set.ts';
import {
  DATA_LINK,
  isRuleFileName,
  leadsOverLink,
  type RuleDirectoryContent,
  RuleSourceFault,
  readRuleDirectory,
} from './read-directory.ts';

/** Location of the rule files, and when they are reloaded (spec 2.7, `RUNTIME_…`). */
interface FileRuleSourceOptions {
  readonly root: string;
  /** May be empty, as may `appDirectory`. */
  readonly subdirectory: string;
  readonly appDirectory: string;
  readonly ignoreDotFiles: boolean;
  /**
   * True: reload when another tree is swapped in at `root`, not when files below it change, except while a missing or
   * empty tree is filled in place. False: also reload when a rule file in the directory changes.
   */
  readonly watchRoot: boolean;
  /** The setting that names the directory. Default: the `RUNTIME_…` settings, one for each part of the path. */
  readonly setting?: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** Maximum number of consecutive reads that are discarded because files changed meanwhile: changes may never stop. */
const MAX_STALE_READS = 8;

type Outcome = { readonly files: readonly RuleFile[] } | { readonly fault: Error };

/**
 * Rule files of a directory, read at the start and after every change. Reads never overlap: all changes during a read
 * are covered by the next one. The directory may be missing, swapped, removed and created again at any time. If files
 * are missing from a set, it is read again after {@link RECHECK_MS} before it is loaded.
 */
export class FileRuleSource implements Service {
  readonly name = 'rule files';
  readonly #options: FileRuleSourceOptions;
  readonly #loader: RuleSetLoader;
  readonly #directory: string;
  readonly #watch: DirectoryWatch;
  readonly #watchRetry: WatchRetry;
  readonly #removals = new RemovalCheck();
  /** Ends the delay before a set with missing files is read again. */
  #endWait: () => void = () => {};
  /** Resolves when an {@link exchange} has ended; null while there is none. */
  #exchange: Promise<void> | null = null;
  #active = false;
  #watchDue = false;
  #readDue = false;
  #reading: Promise<void> | null = null;
  #waiting: (() => void)[] = [];
  /** The last rules name files of values. */
  #hasValueFiles = false;
  /** Names of entries that the last read did not read. */
  #unread: ReadonlySet<string> = new Set();
  /** The last read found no rule files. */
  #lacking = false;
  /** The tree was missing or empty and is being filled file by file, so each file triggers a reload. */
  #filling = false;

  constructor(options: FileRuleSourceOptions, loader: RuleSetLoader) {
    this.#options = options;
    this.#loader = loader;
    this.#directory = join(options.root, options.subdirectory, options.appDirectory);
    this.#watchRetry = new WatchRetry({
      logger: options.logger,
      clock: options.clock ?? systemClock,
      again: () => this.#moved(),
    });
    const paths = { root: options.root, directory: this.#directory };
    this.#watch = new DirectoryWatch(paths, {
      moved: () => this.#moved(),
      touched: name => this.#touched(name),
      broken: (place, failure) => this.#broken(place, failure),
    });
  }

  /** Resolves when the loader has received the first set or its failure. */
  async start(): Promise<void> {
    this.#active = true;
    this.#watchDue = true;
    await Promise.all([this.reload(), this.#warnUnlessSwappable()]);
  }

  /** Warns if no part of the path is a symbolic link: with `watchRoot`, changes of the files are then not noticed. */
  async #warnUnlessSwappable(): Promise<void> {
    const { root, watchRoot, logger } = this.#options;
    if (!watchRoot || (await leadsOverLink(root, this.#directory)) || !this.#active) return;
    logger.warning(
      'RUNTIME_WATCH_ROOT=true reloads the rules only when a symbolic link on the way to them is swapped, and there is ' +
        'none: changes of the rule files have no effect until a restart. Set RUNTIME_WATCH_ROOT=false to reload when a ' +
        'rule file changes',
      { root, directory: this.#directory },
    );
  }

  /** Resolves when the loader has received the outcome of a read that began after this call, or on `stop`. */
  reload(): Promise<void> {
    if (!this.#active) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#read();
    });
  }

  /**
   * Runs `work`, which changes several rule files, while nothing is read, and then reads all of them at once. Rejects as
   * `work` does.
   */
  async exchange(work: () => Promise<void>): Promise<void> {
    // A read that waits for the exchange must not be waited for, so the exchange begins after the last read.
    while (this.#reading !== null) await this.#reading;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exchange = promise;
    try {
      await work();
    } finally {
      this.#exchange = null;
      resolve();
    }
    await this.reload();
  }

  /** Waits for a read in progress and drops its outcome: the loader receives nothing after this call. */
  async stop(): Promise<void> {
    this.#active = false;
    this.#watchRetry.stop();
    this.#endWait();
    await this.#reading;
    this.#watch.close();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #moved(): void {
    this.#watchDue = true;
    this.#read();
  }

  #touched(name: string): void {
    const filesCount = !this.#options.watchRoot || this.#filling;
    const isRead = this.#hasValueFiles || isRuleFileName(name, this.#options);
    if (name === DATA_LINK || (filesCount && isRead)) this.#read();
  }

  #broken(place: string, failure: Error): void {
    if (this.#active) this.#watchRetry.broken(place, failure);
  }

  #read(): void {
    if (!this.#active) return;
    this.#readDue = true;
    this.#reading ??= this.#readUntilQuiet();
  }

  async #readUntilQuiet(): Promise<void> {
    let stale = 0;
    let served: (() => void)[] = [];
    while (this.#active && this.#readDue) {
      if (this.#exchange !== null) await this.#exchange;
      this.#readDue = false;
      served = served.concat(this.#waiting.splice(0));
      const outcome = await this.#readOnce();
      if (!this.#active) break;
      if (this.#readDue && stale < MAX_STALE_READS) {
        stale++;
        continue;
      }
      if (!this.#isComplete(outcome)) {
        await this.#waitForRecheck();
        this.#readDue = true;
        continue;
      }
      stale = 0;
      this.#handOn(outcome);
      for (const resolve of served.splice(0)) resolve();
    }
    // There is no await since `#readDue` was checked, so no change is missed.
    this.#reading = null;
    for (const resolve of served) resolve();
  }

  #isComplete(outcome: Outcome): boolean {
    if ('files' in outcome) return this.#removals.isComplete(outcome.files);
    this.#removals.forget();
    return true;
  }

  #waitForRecheck(): Promise<void> {
    return new Promise(resolve => {
      const timer = (this.#options.clock ?? systemClock).after(RECHECK_MS, resolve);
      this.#endWait = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async #readOnce(): Promise<Outcome> {
    const moved = this.#watchDue;
    this.#watchDue = false;
    if (moved) await this.#watch.set();
    const outcome = await this.#outcome();
    this.#noteFilling(outcome, moved);
    return outcome;
  }

  async #outcome(): Promise<Outcome> {
    try {
      const content = await readRuleDirectory(this.#directory, this.#options);
      this.#hasValueFiles = content.hasValueFiles;
      this.#logUnread(content);
      return { files: content.files };
    } catch (failure) {
      return { fault: this.#withSettings(asError(failure)) };
    }
  }

  /** A tree that replaced one with rules was swapped, so it is complete. */
  #noteFilling(outcome: Outcome, moved: boolean): void {
    const lacking = 'fault' in outcome || outcome.files.length === 0;
    if (lacking) this.#filling = true;
    else if (moved && !this.#lacking) this.#filling = false;
    this.#lacking = lacking;
  }

  /** Logs each name once while it exists. Names that are gone are forgotten: Kubernetes creates dated directories. */
  #logUnread({ ignored, dangling }: RuleDirectoryContent): void {
    const { logger } = this.#options;
    for (const name of [...ignored, ...dangling]) {
      if (this.#unread.has(name)) continue;
      const path = join(this.#directory, name);
      if (dangling.includes(name)) {
        logger.warning(
          'Rule file skipped: it is a link to a file that does not exist. Fix or remove the link',
          {
            path,
          },
        );
      } else logger.debug('File ignored: only *.yaml and *.yml are rule files', { path });
    }
    this.#unread = new Set([...ignored, ...dangling]);
  }

  #withSettings(fault: Error): Error {
    if (!(fault instanceof RuleSourceFault) || fault.problem !== 'directory') return fault;
    const { root, subdirectory, appDirectory, setting } = this.#options;
    const parts = `RUNTIME_ROOT='${root}', RUNTIME_SUBDIRECTORY='${subdirectory}' and RUNTIME_APPDIRECTORY='${appDirectory}'`;
    const advice =
      setting === undefined
        ? `fix the settings that make up this path: ${parts}`
        : `fix the setting ${setting}='${root}'`;
    const text = `${fault.message}, or ${advice}`;
    return new RuleSourceFault('directory', text, { cause: fault.cause });
  }

  #handOn(outcome: Outcome): void {
    try {
      if ('files' in outcome) void this.#loader.load(outcome.files);
      else this.#loader.refuse([outcome.fault.message]);
    } catch (failure) {
      // A bug in the loader must not stop the watching.
      this.#options.logger.error('Could not load the rule files (this is a bug; please report it)', {
        error: asError(failure).stack,
      });
    }
  }
}

/** How long to wait, in milliseconds, before a set with missing files is read again. */
export const RECHECK_MS = 100;

/** Maximum number of consecutive reads with missing files that all differ. The last one is accepted. */
export const MAX_RECHECKS = 10;

/**
 * Distinguishes removed files from files that are being replaced. Editors and backup programs move the old file away
 * before they write the new one, `cp` truncates a file before it fills it, and a directory is emptied before it is
 * removed. Loading a set that was read in between would briefly disable rules.
 */
export class RemovalCheck {
  /** The names in the last complete set. */
  #known: ReadonlySet<string> = new Set();
  /** The names in the last set with missing files. */
  #lacking: string | null = null;
  #reads = 0;

  /** False if files are missing and the set should be read again after {@link RECHECK_MS}. */
  isComplete(files: readonly RuleFile[]): boolean {
    const names = new Set(files.filter(file => file.content.length > 0).map(file => file.name));
    const text = [...names].join('\0');
    this.#reads++;
    const settled = [...this.#known].every(name => names.has(name)) || text === this.#lacking;
    if (!settled && this.#reads < MAX_RECHECKS) {
      this.#lacking = text;
      return false;
    }
    this.#known = names;
    this.forget();
    return true;
  }

  /** The files could not be read. The next set is compared with the last complete one. */
  forget(): void {
    this.#lacking = null;
    this.#reads = 0;
  }
}
