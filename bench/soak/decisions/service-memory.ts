/** Memory of the service's primary thread, from inside, right after a garbage collection. */
export interface HeapSample {
  readonly heapBytes: number;
  /** Buffers, and what native code holds. */
  readonly externalBytes: number;
}

const ADDRESS = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/;
const PATIENCE_MS = 20_000;

interface InspectorReply {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
  readonly error?: { readonly message: string };
}

interface OpenRequest {
  readonly resolve: (reply: InspectorReply) => void;
  readonly reject: (failure: Error) => void;
}

/** What makes a Node.js process listen for an inspector, on a port that it chooses. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/**
 * Asks a process for its memory through the inspector of Node.js, so that the service need not be built or started in
 * another way for it.
 */
export class ServiceMemory {
  readonly #socket: WebSocket;
  readonly #open = new Map<number, OpenRequest>();
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#settle(JSON.parse(String(data)));
    socket.onclose = () => this.#abandon();
  }

  /** Connects to the process that wrote this. */
  static async connect(output: string): Promise<ServiceMemory> {
    const address = ADDRESS.exec(output)?.[0];
    if (address === undefined) throw new Error('the service did not say where its inspector listens');
    const socket = new WebSocket(address);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = () => reject(new Error(`nothing answers at ${address}`));
    });
    return new ServiceMemory(socket);
  }

  async sample(): Promise<HeapSample> {
    // Twice: buffers are given back by finalizers, which run after a collection.
    await this.#ask('HeapProfiler.collectGarbage', {});
    await this.#ask('HeapProfiler.collectGarbage', {});
    const { result } = await this.#ask('Runtime.evaluate', {
      expression: 'process.memoryUsage()',
      returnByValue: true,
    });
    const usage = result?.result?.value as { readonly heapUsed: number; readonly external: number };
    return { heapBytes: usage.heapUsed, externalBytes: usage.external };
  }

  close(): void {
    this.#socket.close();
  }

  #ask(method: string, params: unknown): Promise<InspectorReply> {
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`the service did not answer "${method}" within ${PATIENCE_MS / 1_000} s`)),
        PATIENCE_MS,
      );
      this.#open.set(id, {
        resolve: reply => {
          clearTimeout(timer);
          resolve(reply);
        },
        reject: failure => {
          clearTimeout(timer);
          reject(failure);
        },
      });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  #settle(reply: InspectorReply): void {
    if (reply.id === undefined) return;
    const open = this.#open.get(reply.id);
    this.#open.delete(reply.id);
    if (reply.error === undefined) open?.resolve(reply);
    else open?.reject(new Error(`the inspector of the service refused: ${reply.error.message}`));
  }

  #abandon(): void {
    for (const { reject } of this.#open.values()) reject(new Error('the service has ended'));
    this.#open.clear();
  }
}
