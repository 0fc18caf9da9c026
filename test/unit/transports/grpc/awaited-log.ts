import { createLogger } from '../../../../src/app/logging/logging.ts';

export type LogLine = Readonly<Record<string, unknown>>;

/** A log of every level, as the program writes it, that can be waited for. */
export class AwaitedLog {
  readonly lines: LogLine[] = [];
  readonly logger = createLogger({ level: 'trace', format: 'json', write: line => this.#write(line) });
  #wake: () => void = () => {};

  /** Resolves with the first `count` lines whose message matches, once they are there. */
  async until(message: RegExp, count = 1): Promise<LogLine[]> {
    for (;;) {
      const found = this.lines.filter(line => message.test(String(line['@message'])));
      if (found.length >= count) return found;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  /** All that was logged. */
  get text(): string {
    return JSON.stringify(this.lines);
  }

  #write(line: string): void {
    this.lines.push(JSON.parse(line));
    this.#wake();
  }
}
