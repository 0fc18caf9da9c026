import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import type { Clock } from '../../../../src/base/clock.ts';
import type { Logger } from '../../../../src/base/logger.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../../../../src/rules/rule-set.ts';
import { FileRuleSource } from '../../../../src/rules/source/file-source.ts';
import { wrapBuiltin } from '../../../support/wrapped-builtin.ts';

/** One outcome: file texts joined by a space in file order, or the message of the fault. */
export type Heard = { readonly loaded: string } | { readonly failed: string };

/** Records what a source hands on; `next` takes it in order and waits when there is nothing yet. */
export class RecordingLoader implements RuleSetLoader {
  readonly heard: Heard[] = [];
  onHeard: () => void = () => {};
  #taken = 0;
  #wake: () => void = () => {};

  load(files: readonly RuleFile[]): Promise<LoadOutcome> {
    this.#add({ loaded: files.map(file => Buffer.from(file.content).toString()).join(' ') });
    return Promise.resolve({ kind: 'active' });
  }

  refuse(reasons: readonly string[]): void {
    this.#add({ failed: reasons.join(' ') });
  }

  async next(): Promise<Heard> {
    while (this.#taken === this.heard.length) {
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
    return this.heard[this.#taken++];
  }

  /** Takes outcomes until one is a set with these texts: a change of several steps may be read in between. */
  async until(texts: string): Promise<Heard> {
    for (;;) {
      const outcome = await this.next();
      if ('loaded' in outcome && outcome.loaded === texts) return outcome;
    }
  }

  #add(outcome: Heard): void {
    this.heard.push(outcome);
    this.#wake();
    this.onHeard();
  }
}

/** Keeps lines as `level: message`. */
export class RecordingLogger implements Logger {
  readonly lines: string[] = [];

  error(message: string): void {
    this.lines.push(`error: ${message}`);
  }
  warning(message: string): void {
    this.lines.push(`warning: ${message}`);
  }
  info(message: string): void {
    this.lines.push(`info: ${message}`);
  }
  debug(message: string): void {
    this.lines.push(`debug: ${message}`);
  }
  trace(message: string): void {
    this.lines.push(`trace: ${message}`);
  }
  enabled(): boolean {
    return true;
  }
}

export interface SourceSetup {
  readonly root: string;
  readonly subdirectory?: string;
  readonly appDirectory?: string;
  readonly ignoreDotFiles?: boolean;
  readonly watchRoot: boolean;
  readonly clock?: Clock;
}

/** A source that is stopped when the test ends. Without more said, files are in `config` below the root. */
export function makeSource(t: Test, setup: SourceSetup) {
  const loader = new RecordingLoader();
  const logger = new RecordingLogger();
  const defaults = { subdirectory: '', appDirectory: 'config', ignoreDotFiles: false };
  const source = new FileRuleSource({ ...defaults, ...setup, logger }, loader);
  t.teardown(() => source.stop());
  return { source, loader, logger };
}

/** As {@link makeSource}, started, and its first outcome taken. */
export async function startSource(t: Test, setup: SourceSetup) {
  const made = makeSource(t, setup);
  await made.source.start();
  return { ...made, first: await made.loader.next() };
}

/** How many directories were listed since: each read of a source lists one. */
export function countReads(t: Test): () => number {
  let reads = 0;
  wrapBuiltin(t, promises, 'opendir', opendir => (...args) => {
    reads++;
    return opendir(...args);
  });
  return () => reads;
}

/** Resolves once every watcher has heard of all changes made before: the system tells them in order. */
export async function eventsDelivered(t: Test): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'sluice-events-'));
  t.teardown(() => rmSync(place, { recursive: true }));
  const watcher = watch(place);
  writeFileSync(join(place, 'last'), '');
  await once(watcher, 'change');
  watcher.close();
}

/** Adds the test once for each value of `watchRoot`. */
export function inBothModes(name: string, run: (t: Test, watchRoot: boolean) => Promise<void>): void {
  t.test(`${name}, watching the root`, t => run(t, true));
  t.test(`${name}, watching the directory`, t => run(t, false));
}

/** Makes a directory with one rule file, or writes that file again. */
export function writeRules(directory: string, text: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'a.yaml'), text);
}

/** Makes `link` lead to `target` in one step, as a deployment does. */
export function swap(link: string, target: string): void {
  symlinkSync(target, `${link}_tmp`);
  renameSync(`${link}_tmp`, link);
}
