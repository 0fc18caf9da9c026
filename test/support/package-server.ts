import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeTempDirectory, removeDirectory } from './temp-directory.ts';

/** The npm package that a {@link PackageServer} has. */
export const PACKAGE = { name: 'sluice-fixture', version: '1.0.0' } as const;

/** A registry for npm with one package, whose archive it can hold back: an installation stops there until it may go on. */
export class PackageServer {
  /** How often the archive was asked for. */
  downloads = 0;
  /** Of the archive, as lock files have it. */
  readonly integrity: string;
  readonly #archive: Buffer;
  readonly #server = createServer((request, response) => this.#answer(request.url ?? '', response));
  readonly #held: ServerResponse[] = [];
  #holds = false;
  #asked: () => void = () => {};

  private constructor(archive: Buffer) {
    this.#archive = archive;
    this.integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  }

  static async start(): Promise<PackageServer> {
    const server = new PackageServer(packed());
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Holds the archive back from now on. Resolves when it is asked for. */
  hold(): Promise<void> {
    this.#holds = true;
    return new Promise(resolve => {
      this.#asked = resolve;
    });
  }

  /** Sends the archive to those who wait for it, and to all who ask later. */
  release(): void {
    this.#holds = false;
    for (const response of this.#held.splice(0)) response.end(this.#archive);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(url: string, response: ServerResponse): void {
    if (!url.endsWith('.tgz')) {
      response.end(JSON.stringify(this.#description()));
      return;
    }
    this.downloads++;
    if (!this.#holds) response.end(this.#archive);
    else {
      this.#held.push(response);
      this.#asked();
    }
  }

  #description() {
    const { name, version } = PACKAGE;
    const dist = { tarball: `${this.url}/${name}.tgz`, integrity: this.integrity };
    return { name, 'dist-tags': { latest: version }, versions: { [version]: { name, version, dist } } };
  }
}

/** The archive of the package as npm unpacks it: one module that exports a text. */
function packed(): Buffer {
  const directory = makeTempDirectory();
  const folder = join(directory, 'package');
  mkdirSync(folder);
  const manifest = { ...PACKAGE, type: 'module', exports: './index.js' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'index.js'), "export const text = 'from the package';\n");
  execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: directory });
  const archive = readFileSync(join(directory, 'package.tgz'));
  removeDirectory(directory);
  return archive;
}
