import type { Substitutions } from '../front.ts';

/** What is behind a proxy that asks Sluice about each request. */
export interface Behind {
  /** `host:port` of the HTTP port of each instance of Sluice. */
  readonly instances: readonly string[];
  /** `host:port`. */
  readonly website: string;
  /** How long the proxy waits for Sluice. A busy machine may stall for longer than the files say. */
  readonly timeout: '100ms' | '10s';
}

/** Starts a proxy with its files of `ops`, which ends with its test; returns the `host:port` that it listens on. */
export type StartChecking<T> = (t: T, behind: Behind) => Promise<string>;

/** How the files name the website. */
export const WEBSITE = '127.0.0.1:8000';

/** How the files name the port through which a proxy asks itself. */
export const OWN_PORT = '127.0.0.1:8092';

/** The timeouts of a file, all of which are `100ms`. */
export function timeouts({ timeout }: Behind): Substitutions {
  return timeout === '100ms' ? [] : [['100ms', timeout]];
}

/** Repeats a text of a file, which has the address 127.0.0.1:8080 in it, for each instance. */
export function forEach({ instances }: Behind, text: string, separator: string): Substitutions[number] {
  return [text, instances.map(instance => text.replace('127.0.0.1:8080', instance)).join(separator)];
}
