import { request } from 'node:http';

/** A server-sent event, its data parsed. */
export interface ServerEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at any part of an event.
  readonly data: any;
}

/** A reader of server-sent events. */
export interface EventReader {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Every event so far. */
  readonly events: readonly ServerEvent[];
  /** Resolves with the next event, or one before, for which this is true; rejects if the stream ends first. */
  event(isWanted: (event: ServerEvent) => boolean): Promise<ServerEvent>;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  /** Stops reading, without closing the connection. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Opens the stream of events at `host:port` and this path. */
export function readEvents(address: string, path = '/api/v1/events'): Promise<EventReader> {
  const events: ServerEvent[] = [];
  const waiting = new Set<() => void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let isOver = false;
  const wake = () => {
    for (const each of waiting) each();
  };
  return new Promise((resolve, reject) => {
    const call = request(`http://${address}${path}`, { agent: false }, answer => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop() as string;
        for (const block of blocks) {
          const event = /^event: (.+)\ndata: (.+)$/.exec(block);
          if (event !== null) events.push({ name: event[1], data: JSON.parse(event[2]) });
        }
        wake();
      });
      answer.on('error', () => {});
      answer.on('close', () => {
        isOver = true;
        wake();
        end();
      });
      const found = (isWanted: (event: ServerEvent) => boolean) =>
        new Promise<ServerEvent>((give, fail) => {
          const look = () => {
            const event = events.find(isWanted);
            if (event === undefined && !isOver) return;
            waiting.delete(look);
            if (event === undefined) fail(new Error(`the stream ended after ${events.length} events`));
            else give(event);
          };
          waiting.add(look);
          look();
        });
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        events,
        event: found,
        ended,
        pause: () => answer.socket.pause(),
        resume: () => answer.socket.resume(),
        close: () => call.destroy(),
      });
    });
    call.on('error', failure => (isOver ? end() : reject(failure)));
    call.end();
  });
}
