import { extname } from 'node:path';
import { ForkedChild } from '../../support/forked-child.ts';
import type { GeneratorAnswers } from '../../support/generator.ts';
import type { GrpcLoad } from '../../support/grpc-load/load.ts';
import type { JsonLoad } from './json-generator.ts';

/** The module of a child process, by its path from this folder; sources and their build have different endings. */
export function entryOf(path: string): URL {
  return new URL(`${path}${extname(import.meta.url)}`, import.meta.url);
}

/** The processes that put load on contestants. Each starts when it is first needed. */
export class Generators {
  #grpc: ForkedChild<GeneratorAnswers<GrpcLoad>> | null = null;
  #json: ForkedChild<GeneratorAnswers<JsonLoad>> | null = null;

  get grpc(): ForkedChild<GeneratorAnswers<GrpcLoad>> {
    this.#grpc ??= new ForkedChild({ entry: entryOf('../../support/grpc-load/generator') });
    return this.#grpc;
  }

  get json(): ForkedChild<GeneratorAnswers<JsonLoad>> {
    this.#json ??= new ForkedChild({ entry: entryOf('./json-generator') });
    return this.#json;
  }

  async stop(): Promise<void> {
    await this.#grpc?.stop();
    await this.#json?.stop();
  }
}
