import type { Runtime } from 'node:inspector';
import { type FunctionInput, type LocationInput, Profile, type SampleInput, StringTable } from 'pprof-format';

const FILE_SCHEME = 'file://';

/** The meaning of one number of a sample, such as `{ type: 'cpu', unit: 'nanoseconds' }`. */
interface ValueKind {
  readonly type: string;
  readonly unit: string;
}

/** A node of a V8 call tree: a function, the values measured in the function itself, and the functions it called. */
export interface CallNode {
  readonly callFrame: Runtime.CallFrame;
  /** One whole number per {@link ValueKind}, excluding the children. */
  readonly values: readonly number[];
  readonly children: readonly CallNode[];
}

export interface CallTree {
  readonly root: CallNode;
  readonly valueKinds: readonly ValueKind[];
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Encodes a call tree in the format of pprof (`profile.proto`), uncompressed. */
export function encodePprof(tree: CallTree): Uint8Array {
  const strings = new StringTable();
  const places = new Places(strings);
  const sample = samplesOf(tree.root, places);
  const sampleType = tree.valueKinds.map(kind => ({
    type: strings.dedup(kind.type),
    unit: strings.dedup(kind.unit),
  }));
  return new Profile({
    sampleType,
    sample,
    location: places.locations,
    function: places.functions,
    stringTable: strings,
    timeNanos: BigInt(Math.round(tree.startedAtMs)) * 1_000_000n,
    durationNanos: Math.round(tree.durationMs * 1e6),
    // pprof shows this kind by default.
    defaultSampleType: sampleType[sampleType.length - 1].type,
  }).encode();
}

/** One sample per node that has a value, with its stack from the innermost call outwards. The root is not a call. */
function samplesOf(root: CallNode, places: Places): SampleInput[] {
  const samples: SampleInput[] = [];
  const stack: number[] = [];
  const visit = (node: CallNode): void => {
    if (node.values.some(value => value > 0)) {
      samples.push({ locationId: stack.toReversed(), value: [...node.values] });
    }
    for (const child of node.children) {
      stack.push(places.locate(child.callFrame));
      visit(child);
      stack.pop();
    }
  };
  // V8 records stacks of at most 255 calls, which limits the recursion.
  visit(root);
  return samples;
}

/** The functions of a profile, each with the only location that V8 reports: where the function is defined. */
class Places {
  readonly locations: LocationInput[] = [];
  readonly functions: FunctionInput[] = [];
  readonly #strings: StringTable;
  readonly #ids = new Map<string, number>();

  constructor(strings: StringTable) {
    this.#strings = strings;
  }

  /** The id of the frame's location; equal frames share it. */
  locate(frame: Runtime.CallFrame): number {
    const place = `${frame.url}:${frame.lineNumber}:${frame.columnNumber}:${frame.functionName}`;
    const known = this.#ids.get(place);
    if (known !== undefined) return known;
    const id = this.#ids.size + 1;
    this.#ids.set(place, id);
    const line = frame.lineNumber + 1;
    const name = this.#strings.dedup(nameOf(frame));
    const filename = this.#strings.dedup(fileOf(frame.url));
    this.functions.push({ id, name, systemName: name, filename, startLine: line });
    this.locations.push({ id, line: [{ functionId: id, line }] });
    return id;
  }
}

/**
 * pprof adds up functions with the same name, so functions without a name are named after their place in the source.
 */
function nameOf(frame: Runtime.CallFrame): string {
  if (frame.functionName !== '') return frame.functionName;
  if (frame.url === '') return '(native)';
  const file = frame.url.slice(frame.url.lastIndexOf('/') + 1);
  return frame.lineNumber < 0 ? `(top level ${file})` : `(anonymous ${file}:${frame.lineNumber + 1})`;
}

function fileOf(url: string): string {
  return url.startsWith(FILE_SCHEME) ? url.slice(FILE_SCHEME.length) : url;
}
