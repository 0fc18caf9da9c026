import { join } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { DirectoryWatch, WatchRetry } from '../../base/files/directory-watch.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { RuleFile } from '../rule-set.ts';
import {
  DATA_LINK,
  isRuleFileName,
  leadsOverLink,
  RuleSourceFault,
  readRuleDirectory,
} from './read-directory.ts';
import type { RuleSetLoader } from './rule-set-loader.ts';

/** Where rule files are and what makes them be read again (spec 2.7, `RUNTIME_…`). */
interface FileRuleSourceOptions {
  readonly root: string;
  /** May be empty, as may `appDirectory`. */
  readonly subdirectory: string;
  readonly appDirectory: string;
  readonly ignoreDotFiles: boolean;
  /**
   * True: files are read again when another tree is put at `root`, not when files below it change; a tree that was
   * missing or empty may be filled in place. False: also on each change of a rule file in the directory.
   */
  readonly watchRoot: boolean;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** A read during which files changed is thrown away, but not more often than this in a row: changes may never end. */
const MAX_STALE_READS = 8;

type Outcome = { readonly files: readonly RuleFile[] } | { readonly fault: Error };

/**
 * Rule files of a directory, read at the start and after every change. Reads never overlap; all changes that fall
 * into one are served by the next. The directory may be missing, swapped, removed and made again at any time. A set
 * that lacks files of the one before is read again after a while, before it is handed on.
 */
export class FileRuleSource implements Service {
  readonly name = 'rule files';
  readonly #options: FileRuleSourceOptions;
  readonly #loader: RuleSetLoader;
  readonly #directory: string;
  readonly #watch: DirectoryWatch;
  readonly #watchRetry: WatchRetry;
  readonly #settling = new Settling();
  /** Ends the wait for a set to settle. */
  #endWait: () => void = () => {};
  #active = false;
  #watchDue = false;
  #readDue = false;
  #reading: Promise<void> | null = null;
  #waiting: (() => void)[] = [];
  #ignored: ReadonlySet<string> = new Set();
  /** The last read gave no rule files. */
  #lacking = false;
  /** The tree was missing or empty and is filled file by file, so each file counts even when the root is watched. */
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

  /** Resolves once the loader has heard the first outcome, be it good or bad. */
  async start(): Promise<void> {
    this.#active = true;
    this.#watchDue = true;
    await Promise.all([this.reload(), this.#warnUnlessSwappable()]);
  }

  /** Warns when nothing on the way to the rule files is a link: then changes of them are not noticed. */
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

  /** Resolves once the loader has heard the outcome of a read that began after this call, or the source is stopped. */
  reload(): Promise<void> {
    if (!this.#active) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiting.push(resolve);
      this.#read();
    });
  }

  /** Waits for a read under way, whose outcome is dropped: the loader hears nothing after this was called. */
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
    if (name === DATA_LINK || (filesCount && isRuleFileName(name, this.#options))) this.#read();
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
      this.#readDue = false;
      served = served.concat(this.#waiting.splice(0));
      const outcome = await this.#readOnce();
      if (!this.#active) break;
      if (this.#readDue && stale < MAX_STALE_READS) {
        stale++;
        continue;
      }
      if (!this.#believes(outcome)) {
        await this.#wait();
        this.#readDue = true;
        continue;
      }
      stale = 0;
      this.#handOn(outcome);
      for (const resolve of served.splice(0)) resolve();
    }
    // Without an await between the last look at `#readDue` and this, no change can be missed.
    this.#reading = null;
    for (const resolve of served) resolve();
  }

  #believes(outcome: Outcome): boolean {
    if ('files' in outcome) return this.#settling.believes(outcome.files);
    this.#settling.forget();
    return true;
  }

  /** Until a set that lacks files may have settled, or the source is stopped. */
  #wait(): Promise<void> {
    return new Promise(resolve => {
      const timer = (this.#options.clock ?? systemClock).after(SETTLE_MS, resolve);
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
    this.#judge(outcome, moved);
    return outcome;
  }

  async #outcome(): Promise<Outcome> {
    try {
      const { files, ignored } = await readRuleDirectory(this.#directory, this.#options);
      this.#tellIgnored(ignored);
      return { files };
    } catch (failure) {
      return { fault: this.#withSettings(asError(failure)) };
    }
  }

  /** A tree counts as complete when it took the place of one with rules, for then it was swapped. */
  #judge(outcome: Outcome, moved: boolean): void {
    const lacking = 'fault' in outcome || outcome.files.length === 0;
    if (lacking) this.#filling = true;
    else if (moved && !this.#lacking) this.#filling = false;
    this.#lacking = lacking;
  }

  /** Once per name for as long as it is there: dated directories of Kubernetes would fill a list kept for ever. */
  #tellIgnored(ignored: readonly string[]): void {
    for (const name of ignored) {
      if (this.#ignored.has(name)) continue;
      const path = join(this.#directory, name);
      this.#options.logger.debug('File ignored: only *.yaml and *.yml are rule files', { path });
    }
    this.#ignored = new Set(ignored);
  }

  #withSettings(fault: Error): Error {
    if (!(fault instanceof RuleSourceFault) || fault.problem !== 'directory') return fault;
    const { root, subdirectory, appDirectory } = this.#options;
    const settings = `RUNTIME_ROOT='${root}', RUNTIME_SUBDIRECTORY='${subdirectory}' and RUNTIME_APPDIRECTORY='${appDirectory}'`;
    const text = `${fault.message}, or correct the settings that make this path: ${settings}`;
    return new RuleSourceFault('directory', text, { cause: fault.cause });
  }

  #handOn(outcome: Outcome): void {
    try {
      if ('files' in outcome) void this.#loader.load(outcome.files);
      else this.#loader.refuse([outcome.fault.message]);
    } catch (failure) {
      // A defect of the loader must not end the watching.
      this.#options.logger.error('Could not load the rule files (this is a bug; please report it)', {
        error: asError(failure).stack,
      });
    }
  }
}

/** How long a set that lacks files must stay as it is before it is believed. */
export const SETTLE_MS = 100;

/** Reads in a row that find files lacking, and never the same; the last of them is believed. */
export const MAX_LACKING_READS = 10;

/**
 * Tells files that were removed from files that are being replaced. Editors and backups move the old file away before
 * they write the new one, `cp` empties a file before it fills it, and a directory is emptied before it is removed: a
 * set that is read in between would take rules out of force for a moment.
 */
export class Settling {
  /** Of the set that was believed last. */
  #known: ReadonlySet<string> = new Set();
  /** The names of the last read, when it lacked files. */
  #lacking: string | null = null;
  #reads = 0;

  /** True when the set may be handed on; false when it is to be read again after {@link SETTLE_MS}. */
  believes(files: readonly RuleFile[]): boolean {
    const names = new Set(files.filter(file => file.content.length > 0).map(file => file.name));
    const text = [...names].join('\0');
    this.#reads++;
    const settled = [...this.#known].every(name => names.has(name)) || text === this.#lacking;
    if (!settled && this.#reads < MAX_LACKING_READS) {
      this.#lacking = text;
      return false;
    }
    this.#known = names;
    this.forget();
    return true;
  }

  /** The files could not be read: the next set is judged anew, by the set that was believed last. */
  forget(): void {
    this.#lacking = null;
    this.#reads = 0;
  }
}
