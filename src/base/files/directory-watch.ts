import { type FSWatcher, watch } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Clock, Timer } from '../clock.ts';
import { asError, systemCode } from '../fault.ts';
import type { Logger } from '../logger.ts';

interface DirectoryWatchListener {
  /** The path may now lead to another directory, or to no directory: call `set` again, then read. */
  moved(): void;
  /** An entry directly in the directory was created, written, removed, renamed, or had its mode changed. */
  touched(name: string): void;
  /** Changes in `place` may be missed from now on. */
  broken(place: string, failure: Error): void;
}

/** Maximum number of names and links that are followed to the directory, in case links form a loop. */
const MAX_FOLLOWED = 64;

/** The path does not exist (yet), so the nearest existing directory above it is watched instead. */
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

interface WatchedPlace {
  readonly path: string;
  readonly watcher: FSWatcher;
  /** Names in this directory that determine where the watched path leads. */
  readonly steps: Set<string>;
}

/**
 * Watches a directory, and every name that determines which directory its path leads to: `root`, the names below it,
 * the links above it, and the targets of these links. If a name does not exist, the nearest existing directory above it
 * is watched. The operating system watches directories, not paths, so `set` has to be called again after a move.
 *
 * To watch a file, pass its path as both `root` and `directory`. Replacing the file is reported as a move, writing to
 * it as a move or a touch.
 */
export class DirectoryWatch {
  readonly #root: string;
  readonly #directory: string;
  readonly #listener: DirectoryWatchListener;
  readonly #places = new Map<string, WatchedPlace>();
  readonly #followed = new Set<string>();

  /**
   * @param paths `directory` is usually below `root`. Above `root`, only links are followed, unless `root` does not
   *   exist.
   */
  constructor(
    paths: { readonly root: string; readonly directory: string },
    listener: DirectoryWatchListener,
  ) {
    // A setting may end in a slash or start with `./`; names in events never do.
    this.#root = resolve(paths.root);
    this.#directory = resolve(paths.directory);
    this.#listener = listener;
  }

  /**
   * Watches the directory that the path leads to now. Earlier changes are not reported, so read the directory
   * afterward.
   */
  async set(): Promise<void> {
    this.close();
    await this.#followEnd(this.#root);
    await this.#followBelow(this.#root, this.#directory);
    this.#watch(this.#directory);
  }

  /** Closes all watches. Do not call it while `set` runs. */
  close(): void {
    for (const { watcher } of this.#places.values()) watcher.close();
    this.#places.clear();
    this.#followed.clear();
  }

  /** Watches the parent directory before it reads the link, so that no change in between is missed. */
  async #follow(path: string): Promise<void> {
    const parent = dirname(path);
    if (parent === path || this.#followed.has(path) || this.#followed.size === MAX_FOLLOWED) return;
    this.#followed.add(path);
    this.#watch(parent)?.steps.add(basename(path));

    const target = await orNull(readlink(path));
    const realParent = target === null ? null : await orNull(realpath(parent));
    if (target !== null && realParent !== null) {
      await this.#followBelow(realParent, resolve(realParent, target));
    } else if (!(await isDirectory(parent))) {
      await this.#follow(parent);
    }
  }

  /**
   * Follows the last name of a path, and the links above it. Other directories above it are not watched, because some
   * of them, such as `/` and `/tmp`, change often.
   */
  async #followEnd(path: string): Promise<void> {
    for (const above of pathsAbove(path)) if (await isLink(above)) await this.#follow(above);
    await this.#follow(path);
  }

  /**
   * Follows each name from `base` down to `path`. Any of them may be a link, such as `..data` in `config ->
   * ..data/config`.
   */
  async #followBelow(base: string, path: string): Promise<void> {
    const way = relative(base, path);
    if (way === '') return;
    const names = way.split(sep);
    if (names[0] === '..' || isAbsolute(way)) return this.#followEnd(path);
    let at = base;
    for (const name of names) {
      at = join(at, name);
      await this.#follow(at);
    }
  }

  #watch(path: string): WatchedPlace | null {
    const known = this.#places.get(path);
    if (known !== undefined) return known;
    try {
      const watcher = watch(path);
      const place = { path, watcher, steps: new Set<string>() };
      watcher.on('change', (event, name) => this.#heard(place, event, name));
      watcher.on('error', failure => this.#listener.broken(path, failure));
      this.#places.set(path, place);
      return place;
    } catch (failure) {
      if (!ABSENT.has(systemCode(failure))) this.#listener.broken(path, asError(failure));
      return null;
    }
  }

  #heard(place: WatchedPlace, event: string, name: string | Buffer | null): void {
    // Events of the watched directory itself (removed, renamed, mode changed) carry its own name.
    const itself = event === 'rename' && name === basename(place.path);
    // Some systems do not report the name. Then any name may have changed.
    if (typeof name !== 'string' || itself || place.steps.has(name)) this.#listener.moved();
    else if (place.path === this.#directory) this.#listener.touched(name);
  }
}

/** Returns the paths of the directories above, from the top, without the root: `/a` and `/a/b` for `/a/b/c`. */
function pathsAbove(path: string): string[] {
  const above: string[] = [];
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.unshift(at);
  return above;
}

async function isLink(path: string): Promise<boolean> {
  return (await orNull(lstat(path)))?.isSymbolicLink() ?? false;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await orNull(stat(path)))?.isDirectory() ?? false;
}

/** Treats a path that cannot be read as missing. Reading the directory later reports the reason. */
async function orNull<T>(looked: Promise<T>): Promise<T | null> {
  return looked.catch(() => null);
}

/** Delay before another attempt after watching has failed, for example because no inotify watches are left. */
const WATCH_RETRY_MS = 10_000;

/** Failures that a retry cannot fix. */
const FORBIDDEN: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

interface WatchRetryOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Sets the watches again, and reads the directory, which may have changed while it was not watched. */
  readonly again: () => void;
}

/** Logs that a `DirectoryWatch` is broken and retries after a delay. */
export class WatchRetry {
  readonly #options: WatchRetryOptions;
  #timer: Timer | null = null;

  constructor(options: WatchRetryOptions) {
    this.#options = options;
  }

  /** Starts one timer, even if several places break at once. */
  broken(place: string, failure: Error): void {
    const { logger, clock, again } = this.#options;
    const forbidden = FORBIDDEN.has(systemCode(failure));
    const reason = failure.message;
    if (forbidden) {
      logger.warning(
        'Cannot watch a path, so changes may go unnoticed; let the user of this process read the path',
        { path: place, reason },
      );
      return;
    }
    logger.warning(
      'Cannot watch a path, so changes may go unnoticed; retrying. If this persists, raise fs.inotify.max_user_watches and max_user_instances',
      { path: place, reason, retryInMs: WATCH_RETRY_MS },
    );
    this.#timer ??= clock.after(WATCH_RETRY_MS, () => {
      this.#timer = null;
      again();
    });
  }

  /** Cancels the pending retry. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
