import { type FSWatcher, watch } from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Clock, Timer } from '../clock.ts';
import { asError, systemCode } from '../fault.ts';
import type { Logger } from '../logger.ts';

interface DirectoryWatchListener {
  /** The path may lead to another directory now, or to none: set the watch again, then read. */
  moved(): void;
  /** An entry directly in the directory was created, written, removed, renamed, or had its mode changed. */
  touched(name: string): void;
  /** Changes in `place` may be missed from now on. */
  broken(place: string, failure: Error): void;
}

/** Names and links that are followed on the way to the directory; more is a tangle of links. */
const MAX_FOLLOWED = 64;

/** The place is not there (yet): a directory nearer to the top is watched for it. */
const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

interface WatchedPlace {
  readonly path: string;
  readonly watcher: FSWatcher;
  /** Names in here that decide where the watched path leads. */
  readonly steps: Set<string>;
}

/**
 * Watches a directory and every name that decides which directory its path leads to: `root` and all below it, the
 * links above it, and what each link leads to. What is missing is awaited in the nearest directory above that exists.
 * The system watches directories, not paths, so after a move the watch has to be set again.
 *
 * A file is watched by its path as both `root` and `directory`: when another file is put in its place, that is a
 * move; when it is written, a move or a touch.
 */
export class DirectoryWatch {
  readonly #root: string;
  readonly #directory: string;
  readonly #listener: DirectoryWatchListener;
  readonly #places = new Map<string, WatchedPlace>();
  readonly #followed = new Set<string>();

  /** @param paths `directory` is usually below `root`; of what is above `root` only links are followed, unless `root` is missing */
  constructor(
    paths: { readonly root: string; readonly directory: string },
    listener: DirectoryWatchListener,
  ) {
    // Made absolute and plain: the text of a setting may end in a slash or start with `./`, names in events do not.
    this.#root = resolve(paths.root);
    this.#directory = resolve(paths.directory);
    this.#listener = listener;
  }

  /** Watches what the path leads to now. What changed before is not reported: read after this. */
  async set(): Promise<void> {
    this.close();
    await this.#followEnd(this.#root);
    await this.#followBelow(this.#root, this.#directory);
    this.#watch(this.#directory);
  }

  /** Ends all watching. Not to be called while `set` runs. */
  close(): void {
    for (const { watcher } of this.#places.values()) watcher.close();
    this.#places.clear();
    this.#followed.clear();
  }

  /** The directory is watched before the name in it is looked at, so that no change falls in between. */
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
   * Follows the end of a path, and the links on the way to it. Other names on the way are left alone, so that busy
   * places such as `/` and `/tmp` stay unwatched.
   */
  async #followEnd(path: string): Promise<void> {
    for (const above of pathsAbove(path)) if (await isLink(above)) await this.#follow(above);
    await this.#follow(path);
  }

  /**
   * Follows each name from `base` down to `path`: any of them may be a link, as `..data` is in `config -> ..data/config`.
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
    // Systems that do not tell the name leave no choice but to look at everything.
    if (typeof name !== 'string' || itself || place.steps.has(name)) this.#listener.moved();
    else if (place.path === this.#directory) this.#listener.touched(name);
  }
}

/** The paths of all that lies above, from the top down and without the top itself: `/a`, `/a/b` of `/a/b/c`. */
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

/** A path that cannot be looked at is as good as missing here; reading the directory tells the reason. */
async function orNull<T>(looked: Promise<T>): Promise<T | null> {
  return looked.catch(() => null);
}

/** When watching fails, for instance for want of inotify watches, it is tried again after this time. */
const WATCH_RETRY_MS = 10_000;

/** Failures that trying again does not mend. */
const FORBIDDEN: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

interface WatchRetryOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Sets the watches again, and reads what may have changed without notice. */
  readonly again: () => void;
}

/** What the owner of a `DirectoryWatch` does about one that broke: it tells, and tries again after a while. */
export class WatchRetry {
  readonly #options: WatchRetryOptions;
  #timer: Timer | null = null;

  constructor(options: WatchRetryOptions) {
    this.#options = options;
  }

  /** However many places break at once, one timer runs. */
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

  /** Forgets the attempt that waits. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
