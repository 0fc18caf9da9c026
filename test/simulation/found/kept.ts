import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/repository.ts';
import type { Promised } from '../checks/violations.ts';
import type { History } from '../steps/step.ts';
import type { Shrunk } from './shrink.ts';

/** A history that has broken a promise once. It is kept whole, because a seed means another one when the steps change. */
export interface KeptHistory {
  readonly promise: Promised;
  /** What was wrong. */
  readonly was: string;
  readonly history: History;
}

const FILE = 'test/simulation/found/kept.json';

export function keptHistories(): readonly KeptHistory[] {
  return JSON.parse(readFileSync(join(repositoryRoot(), FILE), 'utf8'));
}

export function keep({ history, violation: { promise, text } }: Shrunk): void {
  const kept = [...keptHistories(), { promise, was: text, history }];
  writeFileSync(
    join(repositoryRoot(), FILE),
    `[\n${kept.map(each => JSON.stringify(each)).join(',\n')}\n]\n`,
  );
}
