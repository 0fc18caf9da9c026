const HEAD_END = '\r\n\r\n';
const LENGTH = /content-length: (\d+)/i;

/** Finds where answers end that have a `Content-Length`, as all of `/json` have. */
export class AnswerScanner {
  readonly #onAnswer: (status: number) => void;
  #head = '';
  #status = 0;
  /** Bytes of the body that are missing; -1 while the head is. */
  #missing = -1;

  constructor(onAnswer: (status: number) => void) {
    this.#onAnswer = onAnswer;
  }

  read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#missing < 0 ? this.#readHead(rest) : this.#readBody(rest);
  }

  #readHead(chunk: Buffer): Buffer {
    const before = this.#head.length;
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf(HEAD_END);
    if (end < 0) return chunk.subarray(chunk.length);
    const head = this.#head.slice(0, end);
    this.#head = '';
    this.#status = Number(head.slice(9, 12));
    this.#missing = Number(LENGTH.exec(head)?.[1] ?? 0);
    if (this.#missing === 0) this.#ended();
    return chunk.subarray(end + HEAD_END.length - before);
  }

  #readBody(chunk: Buffer): Buffer {
    const taken = Math.min(this.#missing, chunk.length);
    this.#missing -= taken;
    if (this.#missing === 0) this.#ended();
    return chunk.subarray(taken);
  }

  #ended(): void {
    this.#missing = -1;
    this.#onAnswer(this.#status);
  }
}
