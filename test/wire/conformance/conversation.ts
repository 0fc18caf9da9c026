import type { Test } from 'tap';
import type { ReplyStream } from '../../../src/grpc/service.ts';
import type { ConnectionLimits } from '../../../src/http2/connection/limits.ts';
import { inWords, ServerFrames } from '../../support/http2-parse.ts';
import { type OwnServing, serveOwn, silent } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';
import {
  data,
  type Fields,
  FLAGS,
  fieldBlock,
  grpcFields,
  grpcMessage,
  headers,
  ping,
  TYPE,
} from '../../support/wire-frames.ts';

/** A service with a method that echoes, one that never answers, and one that streams: its request, and then nothing. */
export function serve(t: Test, limits: Partial<ConnectionLimits> = {}): Promise<OwnServing> {
  return serveOwn(t, {
    unary: { '/s/Silent': silent },
    streaming: { '/s/Watch': (request: Uint8Array, stream: ReplyStream) => stream.send(request) },
    limits: { connection: limits },
  });
}

const ECHO_FIELDS = grpcFields('/s/Echo');

/** The field block of a call to the method that echoes, with other fields behind it. */
export function echoBlock(...more: Fields): Buffer {
  return fieldBlock([...ECHO_FIELDS, ...more]);
}

/** The head of such a call. */
export function echoHead(stream: number, flags: number = FLAGS.endHeaders): Buffer {
  return headers(stream, echoBlock(), flags);
}

/** Its message, which ends it. */
export function echoMessage(stream: number, message: string): Buffer {
  return data(stream, grpcMessage(message), FLAGS.endStream);
}

/** The whole call. */
export function echoCall(stream: number, message: string): Buffer {
  return Buffer.concat([echoHead(stream), echoMessage(stream, message)]);
}

/** A call that is never answered: its stream stays half closed. */
export function silentCall(stream: number): Buffer {
  return Buffer.concat([headers(stream, fieldBlock(grpcFields('/s/Silent'))), echoMessage(stream, '')]);
}

/** A call whose answer is `message`, and no end. */
export function watchCall(stream: number, message: string): Buffer {
  return Buffer.concat([headers(stream, fieldBlock(grpcFields('/s/Watch'))), echoMessage(stream, message)]);
}

/** What is heard of a call that echoes. */
export function echoed(stream: number, message: string): string[] {
  const content = grpcMessage(message).toString('latin1');
  return [
    `HEADERS ${stream} 200/-`,
    inWords({ type: 'DATA', stream, content, endStream: false }),
    `HEADERS ${stream} -/0 END_STREAM`,
  ];
}

/** What is heard when the connection is at fault (RFC 9113, 5.4.1). */
export function connectionError(code: string, lastStream = 0): string[] {
  return [`GOAWAY ${lastStream} ${code}`, 'end'];
}

/** What is heard when a stream is at fault (RFC 9113, 5.4.2). */
export function streamError(code: string, stream = 1): string[] {
  return [`RST_STREAM ${stream} ${code}`];
}

/** What a client says and hears on a real socket. */
export class Conversation {
  readonly client: WireClient;
  readonly #parser = new ServerFrames();
  #chunksRead = 0;
  #marks = 0;
  #isOver = false;

  private constructor(client: WireClient) {
    this.client = client;
  }

  /** Connects, and exchanges preface and SETTINGS; those of the client may be given, by number. */
  static async open(
    t: Test,
    { server }: OwnServing,
    ...settings: readonly (readonly [number, number])[]
  ): Promise<Conversation> {
    const conversation = new Conversation(await WireClient.open(t, server.address, ...settings));
    conversation.#hear();
    return conversation;
  }

  /** Connects and says nothing. */
  static async connect(t: Test, { server }: OwnServing): Promise<Conversation> {
    return new Conversation(await WireClient.connect(t, server.address));
  }

  /**
   * Says these frames, and after them PING, whose answer tells that all of them have been handled. Returns in words what
   * was heard before it, but for WINDOW_UPDATE; `end` stands for the end of the connection.
   */
  async say(...frames: readonly Uint8Array[]): Promise<string[]> {
    const mark = `mark${String(++this.#marks).padStart(4, '0')}`;
    this.client.send(...frames, ping(mark));
    const isAnswer = ({ type, payload }: { type: number; payload: Buffer }): boolean =>
      type === TYPE.ping && payload.toString('latin1') === mark;
    // Fails when the connection ends before.
    await this.client.frame(isAnswer).catch(() => {
      this.#isOver = true;
    });
    return this.#hear().filter(words => words !== `PING ack ${mark}`);
  }

  /** Says these bytes and nothing after them; returns what was heard until the connection ended. */
  async sayLast(...frames: readonly Uint8Array[]): Promise<string[]> {
    this.client.send(...frames);
    await this.client.ended;
    this.#isOver = true;
    return this.#hear();
  }

  #hear(): string[] {
    const { received } = this.client;
    const chunk = Buffer.concat(received.slice(this.#chunksRead));
    this.#chunksRead = received.length;
    const words = this.#parser.push(chunk).map(inWords);
    if (this.#isOver) words.push('end');
    return words.filter(word => !word.startsWith('WINDOW_UPDATE'));
  }
}

/** What a client says on a new connection, by the clause of RFC 9113 (or of another one that is named) that it tests. */
type Cases = Readonly<Record<string, readonly Uint8Array[]>>;

/** One test for each case, on a connection of its own: what is said, and what must be heard. */
export function examine(
  t: Test,
  serving: OwnServing,
  cases: Readonly<Record<string, readonly [says: readonly Uint8Array[], hears: readonly string[]]>>,
): void {
  for (const [name, [says, hears]] of Object.entries(cases)) {
    t.test(name, async t => {
      const conversation = await Conversation.open(t, serving);
      t.strictSame(await conversation.say(...says), hears);
    });
  }
}

function allHear(
  t: Test,
  serving: OwnServing,
  cases: Cases,
  outcome: string,
  hears: readonly string[],
): void {
  const named = Object.entries(cases).map(([name, says]) => [`${name}: ${outcome}`, [says, hears]] as const);
  examine(t, serving, Object.fromEntries(named));
}

/** Calls on stream 1 that are answered with their message, `on`. */
export function accepted(t: Test, serving: OwnServing, cases: Cases): void {
  allHear(t, serving, cases, 'accepted', echoed(1, 'on'));
}

export function connectionErrors(
  t: Test,
  serving: OwnServing,
  [code, lastStream]: readonly [code: string, lastStream: number],
  cases: Cases,
): void {
  allHear(t, serving, cases, `connection error of type ${code}`, connectionError(code, lastStream));
}

/** What ends stream 1 alone. */
export function streamErrors(t: Test, serving: OwnServing, code: string, cases: Cases): void {
  allHear(t, serving, cases, `stream error of type ${code}`, streamError(code));
}
