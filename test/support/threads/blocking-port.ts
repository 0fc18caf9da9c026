import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';

/** One end of a `BlockingPort`. It can be sent to a thread together with its port. */
export interface BlockingEnd {
  readonly port: MessagePort;
  /** One word for each end. It changes with every message to this end. */
  readonly wakes: Int32Array<SharedArrayBuffer>;
  readonly index: 0 | 1;
}

type Message =
  | { readonly call: number; readonly asked: unknown }
  | { readonly returned: number; readonly value: unknown }
  | { readonly returned: number; readonly error: unknown };

/** Two connected ends, for two threads. */
export function blockingEnds(): [BlockingEnd, BlockingEnd] {
  const { port1, port2 } = new MessageChannel();
  const wakes = new Int32Array(new SharedArrayBuffer(8));
  return [
    { port: port1, wakes, index: 0 },
    { port: port2, wakes, index: 1 },
  ];
}

/**
 * Calls functions of another thread as if they were in this one: the caller is blocked until the function has returned,
 * and an error that it throws is thrown here. While a thread is blocked, it still runs what the other thread calls, so
 * calls in both directions can be nested.
 */
export class BlockingPort<Asked, Heard> {
  readonly #end: BlockingEnd;
  readonly #run: (heard: Heard) => unknown;
  readonly #returned = new Map<number, Message>();
  #calls = 0;

  /** @param run called for what the other thread calls; its result or error goes back */
  constructor(end: BlockingEnd, run: (heard: Heard) => unknown) {
    this.#end = end;
    this.#run = run;
    end.port.on('message', message => this.#take(message));
  }

  call(asked: Asked): unknown {
    const { port, wakes, index } = this.#end;
    const call = ++this.#calls;
    this.#send({ call, asked });
    for (;;) {
      const seen = Atomics.load(wakes, index);
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
        this.#take(next.message);
      const end = this.#returned.get(call);
      if (end !== undefined) {
        this.#returned.delete(call);
        if ('error' in end) throw end.error;
        return 'value' in end ? end.value : undefined;
      }
      Atomics.wait(wakes, index, seen);
    }
  }

  close(): void {
    this.#end.port.close();
  }

  #take(message: Message): void {
    if ('returned' in message) this.#returned.set(message.returned, message);
    else this.#send(this.#answer(message.call, message.asked as Heard));
  }

  #answer(returned: number, heard: Heard): Message {
    try {
      return { returned, value: this.#run(heard) };
    } catch (error) {
      return { returned, error };
    }
  }

  #send(message: Message): void {
    const { port, wakes, index } = this.#end;
    port.postMessage(message);
    Atomics.add(wakes, 1 - index, 1);
    Atomics.notify(wakes, 1 - index);
  }
}
