import type { RequestHead } from './routes.ts';

/** The head of a request that is handled later. */
export class KeptRequestHead implements RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  readonly isBinary: boolean;
  readonly #fields: (readonly [name: string, value: string])[] = [];

  constructor(head: RequestHead) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.remoteAddress = head.remoteAddress;
    this.isBinary = head.isBinary;
    head.each((name, value) => {
      this.#fields.push([name, value]);
    });
  }

  header(name: string): string {
    return this.#fields.find(([given]) => given === name)?.[1] ?? '';
  }

  each(field: (name: string, value: string) => void): void {
    for (const [name, value] of this.#fields) field(name, value);
  }
}
