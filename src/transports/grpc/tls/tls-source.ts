import { createHash } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import { DirectoryWatch, WatchRetry } from '../../../base/files/directory-watch.ts';
import type { Service } from '../../../base/lifecycle.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Counter } from '../../../stats/registry.ts';
import { readTlsFiles, type TlsPaths, type TlsTexts } from './tls-files.ts';
import { checkTlsMaterial, type TlsMaterial } from './tls-material.ts';

interface TlsSourceOptions {
  readonly paths: TlsPaths;
  /** Called with valid material: before `start` resolves, and after each change. */
  readonly loaded: (material: TlsMaterial) => void;
  /**
   * `certs.load_attempts` and `certs.load_failures`: how often the files changed, and how often the change was invalid.
   */
  readonly loadAttempts: Counter;
  readonly loadFailures: Counter;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Loads the TLS files at startup and after every change: files written in place, files replaced, and links swapped
 * anywhere on their paths. If the new contents are invalid, this is logged once and the previous contents stay in use.
 * Certificate and key need not change at the same moment: the change that completes the pair is loaded.
 */
export class TlsSource implements Service {
  readonly name = 'TLS files';
  readonly #options: TlsSourceOptions;
  readonly #watches: readonly DirectoryWatch[];
  readonly #watchRetry: WatchRetry;
  #active = false;
  /** Watches to set again before the next read. */
  #moved = new Set<DirectoryWatch>();
  #readDue = false;
  #reading: Promise<void> | null = null;
  /** Result of the last read: a hash of the files, or why they could not be read. */
  #seen = '';

  constructor(options: TlsSourceOptions) {
    this.#options = options;
    this.#watchRetry = new WatchRetry({ ...options, again: () => this.#readAfter(this.#watches) });
    const { certificate, key, clientCa } = options.paths;
    const paths = new Set([certificate, key, ...(clientCa === null ? [] : [clientCa])]);
    this.#watches = [...paths].map(path => this.#watch(path));
  }

  /** @throws TlsFault if the files cannot be used */
  async start(): Promise<void> {
    this.#active = true;
    this.#moved = new Set(this.#watches);
    const first = this.#refresh();
    this.#reading = first.then(() => {});
    const fault = await first;
    this.#reading = null;
    if (fault !== null) throw fault;
    if (this.#readDue) this.#read();
  }

  async stop(): Promise<void> {
    this.#active = false;
    this.#watchRetry.stop();
    await this.#reading;
    for (const watch of this.#watches) watch.close();
    this.#seen = '';
  }

  #watch(path: string): DirectoryWatch {
    const watch: DirectoryWatch = new DirectoryWatch(
      { root: path, directory: path },
      {
        moved: () => this.#readAfter([watch]),
        touched: () => this.#readAfter([]),
        broken: (place, failure) => {
          if (this.#active) this.#watchRetry.broken(place, failure);
        },
      },
    );
    return watch;
  }

  #readAfter(moved: readonly DirectoryWatch[]): void {
    for (const watch of moved) this.#moved.add(watch);
    this.#read();
  }

  /** Reads never overlap. Changes during a read cause one more read. */
  #read(): void {
    if (!this.#active) return;
    this.#readDue = true;
    this.#reading ??= this.#readUntilQuiet();
  }

  async #readUntilQuiet(): Promise<void> {
    while (this.#active && this.#readDue) {
      const fault = await this.#refresh();
      if (fault === null) continue;
      this.#options.logger.error('TLS files not reloaded; the previous ones stay in use', {
        reason: fault.message,
      });
    }
    // No change can be missed, because there is no `await` between the last check of `#readDue` and this line.
    this.#reading = null;
  }

  /** Reads the files once. Returns the fault if the files have changed and cannot be used. */
  async #refresh(): Promise<Error | null> {
    this.#readDue = false;
    const moved = [...this.#moved];
    this.#moved.clear();
    for (const watch of moved) await watch.set();
    const read = await readTlsFiles(this.#options.paths).catch(asError);
    const seen = read instanceof Error ? read.message : hashOf(read);
    if (seen === this.#seen || !this.#active) return null;
    this.#seen = seen;
    return this.#take(read);
  }

  #take(read: TlsTexts | Error): Error | null {
    const { loadAttempts, loadFailures, loaded, logger, paths, clock } = this.#options;
    loadAttempts.add(1);
    try {
      if (read instanceof Error) throw read;
      const material = checkTlsMaterial(read, paths, clock.nowMs());
      loaded(material);
      logger.info('TLS files loaded', { subject: material.subject, validTo: material.validTo });
      for (const reason of material.warnings)
        logger.warning('TLS files may cause rejected connections', { reason });
      return null;
    } catch (failure) {
      loadFailures.add(1);
      return asError(failure);
    }
  }
}

function hashOf(texts: TlsTexts): string {
  return createHash('sha256')
    .update(JSON.stringify([texts.certificate, texts.key, texts.clientCa]))
    .digest('base64');
}
