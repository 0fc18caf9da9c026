import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/repository.ts';
import type { AnyHistory, Simulator } from '../simulator.ts';
import type { Shrunk } from './shrink.ts';

/** A history that has broken a promise once. It is kept whole, because a seed means another one when the steps change. */
export interface KeptHistory<H extends AnyHistory> {
  readonly promise: string;
  /** What was wrong. */
  readonly was: string;
  readonly history: H;
}

const FILES = { tasks: 'kept.json', decisions: 'kept-decisions.json' };

export function keptHistories<H extends AnyHistory>(simulator: Simulator<H>): readonly KeptHistory<H>[] {
  return JSON.parse(readFileSync(fileOf(simulator), 'utf8'));
}

export function keep<H extends AnyHistory>(simulator: Simulator<H>, shrunk: Shrunk<H>): void {
  const { history, violation } = shrunk;
  const { promise, text } = violation;
  const kept = [...keptHistories(simulator), { promise, was: text, history }];
  writeFileSync(fileOf(simulator), `[\n${kept.map(each => JSON.stringify(each)).join(',\n')}\n]\n`);
}

function fileOf<H extends AnyHistory>({ name }: Simulator<H>): string {
  return join(repositoryRoot(), 'test/simulation/found', FILES[name]);
}
