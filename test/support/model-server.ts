import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from './stores.ts';

/** How a request to the model ends. */
export interface ModelAnswer {
  /** The tokens that the model says it has used. */
  readonly used: number;
  /**
   * - `done` (default): it answers at once
   * - `held`: it answers once {@link ModelServer.release} is called
   * - `hangs`: it never answers
   * - `dies`: the connection is closed in the middle of the answer
   * - `dies_early`: the connection is closed before the answer
   * - `fails`: it answers with status 500
   */
  readonly end?: 'done' | 'held' | 'hangs' | 'dies' | 'dies_early' | 'fails';
  /** Whether the answer is a stream of events. */
  readonly stream?: boolean;
  /** What it streams, an event each. */
  readonly words?: readonly string[];
}

/** A request that the model has got. */
export interface ModelRequest {
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server that answers like one of a language model, and says what it has used: in its JSON, or in its last event. */
export class ModelServer {
  /** The requests that have come so far. */
  readonly requests: ModelRequest[] = [];
  /** How many requests have not ended yet. */
  running = 0;
  /** The most that there were at the same time. */
  mostRunning = 0;
  readonly #server = createServer((request, response) => this.#serve(request, response));
  readonly #held = new Set<() => void>();
  readonly #answerOf: (request: ModelRequest) => ModelAnswer;

  private constructor(answerOf: (request: ModelRequest) => ModelAnswer) {
    this.#answerOf = answerOf;
  }

  /** @param answerOf how a request ends; by default, its body says it */
  static async start(
    t: Teardown,
    answerOf: (request: ModelRequest) => ModelAnswer = ({ body }) => body as unknown as ModelAnswer,
  ): Promise<ModelServer> {
    const model = new ModelServer(answerOf);
    model.#server.listen(0, '127.0.0.1');
    await once(model.#server, 'listening');
    t.teardown(() => model.stop());
    return model;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Answers the requests that are held, or some of them: those that came first. */
  release(count = this.#held.size): void {
    for (const answer of [...this.#held].slice(0, count)) {
      this.#held.delete(answer);
      answer();
    }
  }

  /** Ends as a process does that dies: its port is closed, and so are its connections. */
  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of message) text += chunk;
    const request = { headers: message.headers, body: text === '' ? {} : JSON.parse(text) };
    this.requests.push(request);
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.running--;
      isOver = true;
    };
    response.once('close', end);
    const answer = this.#answerOf(request);
    const finish = (): void => {
      // Before the answer leaves, because the next request may come as soon as it has arrived.
      end();
      finishWith(response, answer);
    };
    if (answer.end === 'dies_early') response.destroy();
    else if (answer.end === 'fails') response.writeHead(500);
    else if (answer.stream === true) begin(response, answer);
    if (answer.end === 'dies') response.write('data: {', () => response.destroy());
    else if (answer.end === 'held') this.#held.add(finish);
    else if (answer.end !== 'hangs' && answer.end !== 'dies_early') finish();
  }
}

/** Starts a stream, with what it has to say so far. */
function begin(response: ServerResponse, { words = ['Hello'] }: ModelAnswer): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const content of words) response.write(event({ choices: [{ delta: { content } }] }));
}

function finishWith(response: ServerResponse, { used, end, stream }: ModelAnswer): void {
  const usage = { total_tokens: used };
  if (end === 'fails') response.end('the model has failed');
  else if (stream === true) response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`);
  else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices: [{ message: { content: 'Hello' } }], usage }));
  }
}

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
