import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { AdsServer, type AdsServerStream } from '../ads-server.ts';
import { commandOf } from '../grpc-clients.ts';
import type { Teardown } from '../stores.ts';
import type { ConfigMessage } from '../xds-messages.ts';

/** The xDS server of a gateway's controller. It sends rules to clients with one node id, as controllers do. */
export interface ControlPlane {
  /** `host:port`. */
  readonly address: string;
  /** Sends all resources of the next version. Resolves with what the client says: null if it has accepted them. */
  publish(resources: readonly ConfigMessage[]): Promise<string | null>;
  /** Ends it as a crash does. */
  stop(): Promise<void>;
}

/** Starts one that ends with its test. Versions count from 1, as those of controllers do after each of their starts. */
export type StartControlPlane = (t: Teardown, node: string, port?: number) => Promise<ControlPlane>;

/** With the xDS server of the tests. */
export const startOwn: StartControlPlane = async (t, node, port = 0) =>
  new OwnControlPlane(await AdsServer.start(t, { port }), node);

/** With that of go-control-plane, on which the controllers stand. */
export const startGo: StartControlPlane = async (t, node, port = 0) => {
  const [program, ...args] = commandOf('control-plane');
  const child = spawn(program, [...args, `localhost:${port}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const plane = new GoControlPlane(child, node);
  t.teardown(() => plane.stop());
  await plane.started();
  return plane;
};

class OwnControlPlane implements ControlPlane {
  readonly #server: AdsServer;
  readonly #node: string;
  #stream: AdsServerStream | null = null;
  #version = 0;

  constructor(server: AdsServer, node: string) {
    this.#server = server;
    this.#node = node;
  }

  get address(): string {
    return this.#server.address;
  }

  async publish(resources: readonly ConfigMessage[]): Promise<string | null> {
    this.#stream ??= await this.#opened();
    this.#stream.send(String(++this.#version), ...resources);
    const { error_detail: refusal } = await this.#server.request();
    return refusal === null ? null : refusal.message;
  }

  async stop(): Promise<void> {
    this.#server.stop();
  }

  async #opened(): Promise<AdsServerStream> {
    const { node } = await this.#server.request();
    if (node.id !== this.#node) throw new Error(`a client with the node id ${node.id} has asked`);
    return await this.#server.stream();
  }
}

/** A line that the program in `test/wire/interop/control-plane` writes for a request. */
interface SeenRequest {
  readonly node: string;
  readonly about: string;
  readonly refusal: string;
}

class GoControlPlane implements ControlPlane {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #node: string;
  address = '';
  #version = 0;

  constructor(child: ChildProcess, node: string) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout! });
    this.#node = node;
  }

  async started(): Promise<void> {
    const [line] = await once(this.#lines, 'line');
    this.address = JSON.parse(line).address;
  }

  publish(resources: readonly ConfigMessage[]): Promise<string | null> {
    const version = String(++this.#version);
    const answered = this.#answerTo(version);
    this.#child.stdin!.write(`${JSON.stringify({ node: this.#node, version, resources })}\n`);
    return answered;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  #answerTo(version: string): Promise<string | null> {
    return new Promise(resolve => {
      const read = (line: string): void => {
        const { node, about, refusal }: SeenRequest = JSON.parse(line);
        if (node !== this.#node || about !== version) return;
        this.#lines.off('line', read);
        resolve(refusal === '' ? null : refusal);
      };
      this.#lines.on('line', read);
    });
  }
}
