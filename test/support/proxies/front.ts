import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { dialled } from '../asking.ts';
import type { Child } from '../child-process.ts';
import { freePort } from '../free-port.ts';
import { repositoryRoot } from '../repository.ts';

/** Addresses of one process of Sluice, `host:port` each. */
export interface Instance {
  readonly http: string;
  readonly grpc: string;
}

/** Where a proxy in front of Sluice listens, `host:port` each. */
export interface Fronts {
  /** The tasks API, by host. */
  readonly tasks: string;
  /** `/json`. */
  readonly decisions: string;
  readonly grpc: string;
}

/** Pairs of a text of the file and what takes its place. */
export type Substitutions = readonly (readonly [from: string, to: string])[];

/** Longest wait for a proxy to start, and to end. */
export const PATIENCE_MS = 60_000;

/** How often another process may take a port before the proxy has it. */
const ATTEMPTS = 3;

/**
 * Starts a proxy on free ports and waits until it listens. A proxy cannot choose its ports itself: when one of them
 * was taken meanwhile it ends, and is started again on others.
 *
 * @param count how many ports it needs
 * @param start starts it on these addresses; resolves when it listens, and rejects when it has ended
 * @returns the proxy and the addresses, `host:port` each
 */
export async function startOnFreePorts(
  count: number,
  start: (addresses: readonly string[]) => { readonly proxy: Child; readonly listens: Promise<unknown> },
): Promise<{ readonly proxy: Child; readonly addresses: readonly string[] }> {
  for (let attempt = 1; ; attempt++) {
    const addresses: string[] = [];
    while (addresses.length < count) addresses.push(`127.0.0.1:${await freePort()}`);
    const { proxy, listens } = start(addresses);
    try {
      await listens;
      return { proxy, addresses };
    } catch (failure) {
      await proxy.end('SIGKILL', PATIENCE_MS);
      if (attempt === ATTEMPTS || !/address already in use/i.test(proxy.output)) throw failure;
    }
  }
}

/** The text of a file below `ops`, with what is different on this machine. */
export function substituted(file: string, substitutions: Substitutions): string {
  let text = readFileSync(join(repositoryRoot(), 'ops', file), 'utf8');
  for (const [from, to] of substitutions) {
    if (!text.includes(from)) throw new Error(`ops/${file} has no text "${from}" to substitute`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/**
 * Writes files of a folder of `ops`, each with what is different on this machine.
 *
 * @returns their paths, in the same order
 */
export function writeSubstituted(
  folder: string,
  files: readonly (readonly [file: string, substitutions: Substitutions])[],
): readonly string[] {
  return files.map(([file, substitutions]) => {
    const path = join(folder, file.slice(file.lastIndexOf('/') + 1));
    writeFileSync(path, substituted(file, substitutions));
    return path;
  });
}

/** For programs that write nothing when they are ready, and open their ports one by one: resolves once each listens. */
export async function listening(program: Child, addresses: readonly string[]): Promise<void> {
  let ended = false;
  program.ended.finally(() => {
    ended = true;
  });
  for (const address of addresses) {
    while (!(await isListening(address))) {
      if (ended) throw new Error(`The proxy has ended. It wrote:\n${program.output}`);
    }
  }
}

async function isListening(address: string): Promise<boolean> {
  const socket = connect(dialled(address) as { host: string; port: number });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
