import { WireFault } from '../../messages/wire.ts';
import type { RuleFile } from '../rule-set.ts';
import type { FaultList } from './fault-list.ts';
import { FileCheck } from './file-check.ts';
import type { ReadFile } from './read-file.ts';
import { ResourceFault, type ResourceReading, readResourceTree } from './resource-tree.ts';
import { printable } from './yaml/quote.ts';

/** A resource has no lines to point at: faults name it and the path of the entry. */
const NO_PLACE = { line: 0, column: 0 };

/** Reads the bytes of one resource; null when they were faulty, which is reported. */
export function readResource(resource: RuleFile, faults: FaultList): ReadFile | null {
  const reading = readTree(resource, faults);
  if (reading === null) return null;
  const source = {
    file: shownName(resource, reading.name === '' ? resource.name : printable(reading.name)),
    noun: 'resource',
    placeOf: () => NO_PLACE,
  } as const;
  return { check: new FileCheck(source, faults), root: reading.root };
}

function shownName({ origin }: RuleFile, name: string): string {
  return origin === undefined ? name : `${name} (from ${origin})`;
}

function readTree(resource: RuleFile, faults: FaultList): ResourceReading | null {
  try {
    return readResourceTree(resource.content);
  } catch (failure) {
    if (!(failure instanceof WireFault || failure instanceof ResourceFault)) throw failure;
    const message = `the resource is no RateLimitConfig that can be read: ${failure.message}`;
    faults.add({ file: shownName(resource, resource.name), ...NO_PLACE, path: '', message });
    return null;
  }
}
