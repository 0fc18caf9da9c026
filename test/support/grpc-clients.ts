import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { repositoryRoot } from './repository.ts';

/** What a client in another language saw of a server; see `test/wire/interop/clients`. */
export interface Seen {
  readonly echo: string;
  readonly large: boolean;
  readonly gzip: boolean;
  readonly encoding: string;
  readonly deadline: string;
  /** How many calls ended in which way. */
  readonly load: Readonly<Record<string, number>>;
}

/** Clients in other languages, as `ops/launch/grpc-clients.mjs` builds them. */
export const CLIENT_LANGUAGES = ['java', 'go', 'python'] as const;
export type ClientLanguage = (typeof CLIENT_LANGUAGES)[number];

/** A client, the one of quotas, the caller of a middleware, or the xDS server of go-control-plane. */
type BuiltProgram = ClientLanguage | 'quota' | 'limit' | 'control-plane';

function recordOf(program: BuiltProgram): string {
  return join(repositoryRoot(), 'node_modules/.cache/grpc-clients', program, 'client.json');
}

/** The command that starts a program that is built. */
export function commandOf(program: BuiltProgram): string[] {
  return JSON.parse(readFileSync(recordOf(program), 'utf8')).command;
}

/** The reason why tests with this client are skipped, where it was not built; else false. */
export function clientMissing(language: ClientLanguage): string | false {
  return missing(language, `the gRPC client in ${language}`, 'npm test');
}

/** The same for the xDS server of go-control-plane. */
export function controlPlaneMissing(): string | false {
  return missing('control-plane', 'the xDS server in go', 'npm run test:all');
}

/** The same for the client of quotas. */
export function quotaClientMissing(): string | false {
  return missing('quota', 'the client of quotas in python', 'npm run test:all');
}

/** The same for the caller of the middleware of docs/limit-clients.md. */
export function middlewareCallerMissing(): string | false {
  return missing('limit', 'the caller of the middleware in python', 'npm run test:all');
}

function missing(program: BuiltProgram, title: string, builder: string): string | false {
  if (existsSync(recordOf(program))) return false;
  return `${title} is not built: ${builder} builds it where the toolchain and its packages are there`;
}

/** Runs the client to its end. Fails with what it wrote when it fails, or takes longer than a minute. */
export async function runClient(language: ClientLanguage, address: string, calls: number): Promise<Seen> {
  return (await resultOf(language, [address, String(calls)], 60_000)) as Seen;
}

/** What the client of quotas saw; see `test/wire/interop/clients/python-quota`. */
export interface SeenQuotas {
  /** With one stream and with ten: how often each kind of answer came, and how many rounds had other ids than were sent. */
  readonly one: SeenBuckets;
  readonly ten: SeenBuckets;
  /** By the name of the case: numbers of answers by their kind, how the stream ended, or whether the id came back. */
  readonly odd: Readonly<Record<string, unknown>>;
  /** Answers by their kind that a proxy got meanwhile that does nothing odd. */
  readonly honest: Readonly<Record<string, number>>;
}

interface SeenBuckets {
  readonly kinds: Readonly<Record<string, number>>;
  readonly rounds: number;
  readonly wrong: number;
}

/** Runs the client of quotas to its end. Fails with what it wrote when it fails, or takes longer than three minutes. */
export async function runQuotaClient(address: string): Promise<SeenQuotas> {
  const proto = join(repositoryRoot(), 'proto');
  return (await resultOf('quota', [address, proto], 180_000)) as SeenQuotas;
}

/** Answers that came through the middleware in Python; see `test/wire/interop/clients/python-limit`. */
interface SeenThroughMiddleware {
  readonly limited: readonly SeenAnswer[];
  /** Without a service, with its options, and with URLs that do not decide. */
  readonly allowed: readonly SeenAnswer[];
  readonly denied: readonly SeenAnswer[];
  readonly wrong: readonly SeenAnswer[];
  readonly notJson: readonly SeenAnswer[];
  readonly errors: readonly string[];
}

interface SeenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Runs the middleware that is in a file, in front of an application, with `/json` at this URL. */
export async function runMiddleware(file: string, url: string): Promise<SeenThroughMiddleware> {
  return (await resultOf('limit', [file, url], 60_000)) as SeenThroughMiddleware;
}

/** What a program that ends by itself writes: one line of JSON. */
async function resultOf(name: BuiltProgram, more: readonly string[], timeout: number): Promise<unknown> {
  const [program, ...args] = commandOf(name);
  const { stdout } = await promisify(execFile)(program, [...args, ...more], { timeout });
  return JSON.parse(stdout);
}

/** How many calls ended in which way: `ok`, or the error. */
type Outcomes = Readonly<Record<string, number>>;

/** Calls a method with the client in Go, over several connections. @returns ends the calls */
export function callSteadily(
  t: { teardown(release: () => unknown): void },
  address: string,
  method: string,
  message: Uint8Array,
): () => Promise<Outcomes> {
  const [program, ...args] = commandOf('go');
  const hex = Buffer.from(message).toString('hex');
  const client = spawn(program, [...args, address, method, hex], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => client.kill());
  const exited = once(client, 'exit');
  const written = text(client.stdout);
  return async () => {
    client.stdin.end();
    await exited;
    return JSON.parse(await written);
  };
}
