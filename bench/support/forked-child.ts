import { type ChildProcess, fork } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answers, Question, Reply } from './control-channel.ts';
import { pinnedNode } from './pinned-node.ts';

export interface ForkedChildOptions {
  /** The module that the child runs; it calls `answerBench`. */
  readonly entry: URL;
  readonly args?: readonly string[];
  /** Options of Node.js, such as `--expose-gc`. */
  readonly nodeFlags?: readonly string[];
}

/** How long a child may take to get ready, and to answer a question. */
const PATIENCE_MS = 30_000;

/** Of what a child writes, errors quote this much of the end. */
const OUTPUT_KEPT = 8_192;

interface OpenQuestion {
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A process of its own that a bench asks questions, run by the Node.js that the packages bring. */
export class ForkedChild<A extends Answers> {
  readonly #name: string;
  readonly #process: ChildProcess;
  readonly #open = new Map<number, OpenQuestion>();
  readonly #ready: Promise<unknown>;
  #asked = 0;
  #output = '';

  constructor(options: ForkedChildOptions) {
    this.#name = basename(fileURLToPath(options.entry));
    this.#process = fork(options.entry, options.args ?? [], {
      execPath: pinnedNode(),
      execArgv: [...(options.nodeFlags ?? [])],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.setEncoding('utf8').on('data', text => {
        this.#output = (this.#output + text).slice(-OUTPUT_KEPT);
      });
    }
    this.#ready = this.#expect(0, 'did not get ready');
    this.#process.on('message', reply => this.#settle(reply as Reply));
    this.#process.on('error', failure => this.#abandon(`cannot be started: ${failure.message}`));
    // Not "exit": by now all that the process wrote has come.
    this.#process.on('close', (status, signal) =>
      this.#abandon(`ended with ${signal ?? `status ${status}`}`),
    );
  }

  /** Resolves with the value that the child was ready with. Fails when it ends before, quoting what it wrote. */
  ready<T>(): Promise<T> {
    return this.#ready as Promise<T>;
  }

  /** The answer of the child. Fails when it ends, cannot answer, or takes longer than half a minute. */
  ask<K extends keyof A & string>(
    name: K,
    ...[argument]: Parameters<A[K]>
  ): Promise<Awaited<ReturnType<A[K]>>> {
    const number = ++this.#asked;
    const question: Question = { number, name, argument };
    const answer = this.#expect(number, `did not answer "${name}"`);
    if (this.#process.connected) this.#process.send(question);
    else this.#abandon('is gone');
    return answer as Promise<Awaited<ReturnType<A[K]>>>;
  }

  /** Ends the process. Harmless once it has ended. */
  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null || this.#process.pid === undefined) return;
    const gone = new Promise(resolve => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await gone;
  }

  #expect(number: number, otherwise: string): Promise<unknown> {
    const answer = new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#fail(number, `${otherwise} within ${PATIENCE_MS / 1_000} s`),
        PATIENCE_MS,
      );
      this.#open.set(number, { resolve, reject, timer });
    });
    // The caller that waits for the answer handles the failure. Without a caller, it must not end the benchmark.
    answer.catch(() => {});
    return answer;
  }

  #settle(reply: Reply): void {
    const number = reply.kind === 'ready' ? 0 : reply.number;
    if (reply.kind === 'failure') this.#fail(number, `could not answer: ${reply.message}`);
    else this.#take(number)?.resolve(reply.value);
  }

  #abandon(what: string): void {
    for (const number of [...this.#open.keys()]) this.#fail(number, what);
  }

  #fail(number: number, what: string): void {
    const wrote = this.#output === '' ? '' : `. It wrote:\n${this.#output}`;
    this.#take(number)?.reject(new Error(`the process ${this.#name} ${what}${wrote}`));
  }

  #take(number: number): OpenQuestion | undefined {
    const open = this.#open.get(number);
    this.#open.delete(number);
    clearTimeout(open?.timer);
    return open;
  }
}
