import type { Exchange } from './exchange.ts';

/** Asks for the version: the least that a node can do to show that it answers. */
export class VersionExchange implements Exchange {
  readonly request = 'version\r\n';
  readonly commands = 1;
  readonly #answered: (line: string) => void;
  readonly failed: (reason: string) => void;

  constructor(answered: (line: string) => void, failed: (reason: string) => void) {
    this.#answered = answered;
    this.failed = failed;
  }

  value(): void {}

  line(text: string): boolean {
    this.#answered(text);
    return true;
  }
}
