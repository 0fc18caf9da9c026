import { createInterface } from 'node:readline';
import { CommandFault } from './command-fault.ts';

/** Standard input, as far as commands read it. */
export interface CliInput {
  /** True when somebody sits there who can answer. */
  readonly isTerminal: boolean;
  /** The next line, without its end; null when there is none. The question goes to standard error. */
  ask(question: string): Promise<string | null>;
  /**
   * Everything up to the end.
   *
   * @throws CommandFault when it is longer than `maxBytes`
   */
  readAll(maxBytes: number): Promise<string>;
}

/** The standard input of this process. It is not opened before the first call. */
export function processInput(): CliInput {
  return {
    isTerminal: process.stdin.isTTY === true,
    ask(question) {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      return new Promise(resolve => {
        lines.once('close', () => resolve(null));
        lines.question(question, answer => {
          resolve(answer);
          lines.close();
        });
      });
    },
    async readAll(maxBytes) {
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw new CommandFault(`standard input has more than ${maxBytes} bytes.`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString();
    },
  };
}
