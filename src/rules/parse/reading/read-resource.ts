import { isUtf8 } from 'node:buffer';
import { excerpt } from '../../../base/printable.ts';
import { WIRE, WireFault, WireReader } from '../../../messages/wire.ts';
import type { RuleFile } from '../../rule-set.ts';
import { type FaultList, FileCheck } from '../fields/file-check.ts';
import { MAX_YAML_DEPTH, MAX_YAML_NODES } from '../yaml/bounds.ts';
import type { YamlList, YamlMap, YamlNode, YamlPair, YamlScalar } from '../yaml/yaml-node.ts';
import type { ReadFile } from './read-file.ts';

/** A resource has no lines: faults name the resource and the path of the entry. */
const NO_PLACE = { line: 0, column: 0 };

/** Reads the bytes of one resource; null if they are faulty, which is reported. */
export function readResource(resource: RuleFile, faults: FaultList): ReadFile | null {
  const reading = readTree(resource, faults);
  if (reading === null) return null;
  const file = shownName(resource, reading.name === '' ? resource.name : excerpt(reading.name));
  const source = { file, noun: 'resource', placeOf: () => ({ file, ...NO_PLACE }) } as const;
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
    const message = `the resource is not a valid RateLimitConfig: ${failure.message}`;
    faults.add({ file: shownName(resource, resource.name), ...NO_PLACE, path: '', message });
    return null;
  }
}

/** The resource cannot be read. The message has the reason and the byte. */
class ResourceFault extends Error {}

/** How the fields of a message map to the fields of a rule file. */
type Fields = Readonly<Record<number, readonly [name: string, read: (tree: ResourceTree) => YamlNode]>>;

const CONFIG: Fields = {
  2: ['domain', tree => tree.text()],
  3: ['descriptors', tree => tree.message(DESCRIPTOR)],
};

const DESCRIPTOR: Fields = {
  1: ['key', tree => tree.text()],
  2: ['value', tree => tree.text()],
  3: ['rate_limit', tree => tree.message(POLICY)],
  4: ['descriptors', tree => tree.message(DESCRIPTOR)],
  5: ['shadow_mode', tree => tree.flag()],
  6: ['detailed_metric', tree => tree.flag()],
  7: ['quota_mode', tree => tree.flag()],
  8: ['metadata', tree => tree.struct()],
};

const POLICY: Fields = {
  1: ['unit', tree => tree.unit()],
  2: ['requests_per_unit', tree => tree.count()],
  3: ['unlimited', tree => tree.flag()],
  4: ['name', tree => tree.text()],
  5: ['replaces', tree => tree.message(REPLACE)],
};

const REPLACE: Fields = { 1: ['name', tree => tree.text()] };

/** Repeated fields, which occur once for each item. */
const REPEATED: ReadonlySet<string> = new Set(['descriptors', 'replaces']);

/** `RateLimitUnit` by number. An unknown number is kept as text, and the checks reject it. */
const UNITS = ['', 'second', 'minute', 'hour', 'day', 'month', 'year', 'week'];

/** A resource: its name, and its rules as the tree of a rule file. */
interface ResourceReading {
  readonly name: string;
  readonly root: YamlMap;
}

/**
 * Reads a `RateLimitConfig` in protobuf wire format as the tree of a rule file with the same rules, so that both share
 * their checks. Unknown fields are skipped, as protobuf requires.
 * @throws ResourceFault, or WireFault if the bytes are not a protobuf message
 */
export function readResourceTree(content: Uint8Array): ResourceReading {
  return new ResourceTree(content).read();
}

/** Builds the tree. Offsets in the tree count bytes. */
class ResourceTree {
  readonly #reader = new WireReader();
  #depth = 0;
  #nodes = 0;
  #name = '';

  constructor(content: Uint8Array) {
    this.#reader.open(content, 0, content.length);
  }

  read(): ResourceReading {
    const root = this.#map(CONFIG);
    return { name: this.#name, root };
  }

  message(fields: Fields): YamlMap {
    return this.#within(() => this.#map(fields));
  }

  text(): YamlScalar {
    return this.#scalar(this.#string(), 'text');
  }

  flag(): YamlScalar {
    return this.#scalar(this.#reader.uint32() === 0 ? 'false' : 'true', 'typed');
  }

  count(): YamlScalar {
    return this.#scalar(String(this.#reader.uint32()), 'typed');
  }

  unit(): YamlScalar {
    const unit = this.#reader.uint32();
    // Enums are signed.
    return this.#scalar(UNITS[unit] ?? String(unit | 0), 'text');
  }

  /** A `google.protobuf.Struct`: a map from texts to `Value`s. */
  struct(): YamlMap {
    return this.#within(() => {
      const offset = this.#reader.position;
      const pairs: YamlPair[] = [];
      while (this.#reader.next()) {
        if (this.#reader.field === 1) pairs.push(this.#within(() => this.#structEntry()));
        else this.#reader.skip();
      }
      return this.#counted({ kind: 'map', pairs, offset });
    });
  }

  #structEntry(): YamlPair {
    const offset = this.#reader.position;
    let key = '';
    let value: YamlNode = this.#scalar('', 'typed');
    while (this.#reader.next()) {
      if (this.#reader.field === 1) key = this.#string();
      else if (this.#reader.field === 2) value = this.#within(() => this.#value());
      else this.#reader.skip();
    }
    return { key, keyPlain: false, keyOffset: offset, value };
  }

  /** A `google.protobuf.Value`. The last kind counts; without a kind the value is null. */
  #value(): YamlNode {
    const reader = this.#reader;
    let value: YamlNode = this.#scalar('', 'typed');
    while (reader.next()) {
      if (reader.field === 1) {
        reader.skip();
        value = this.#scalar('', 'typed');
      } else if (reader.field === 2) value = this.#scalar(this.#double(), 'typed');
      else if (reader.field === 3) value = this.text();
      else if (reader.field === 4) value = this.flag();
      else if (reader.field === 5) value = this.struct();
      else if (reader.field === 6) value = this.#within(() => this.#list());
      else reader.skip();
    }
    return value;
  }

  #list(): YamlList {
    const offset = this.#reader.position;
    const items: YamlNode[] = [];
    while (this.#reader.next()) {
      if (this.#reader.field === 1) items.push(this.#within(() => this.#value()));
      else this.#reader.skip();
    }
    return this.#counted({ kind: 'list', items, offset });
  }

  /** The rest of the message as a map. If a singular field is repeated, the last one counts. */
  #map(fields: Fields): YamlMap {
    const reader = this.#reader;
    const offset = reader.position;
    const pairs: YamlPair[] = [];
    const lists = new Map<string, YamlNode[]>();
    while (reader.next()) {
      const keyOffset = reader.position;
      const [name, read] = fields[reader.field] ?? [];
      if (name === undefined || read === undefined) this.#otherField(fields);
      else if (!REPEATED.has(name)) pairs.push({ key: name, keyPlain: true, keyOffset, value: read(this) });
      else {
        let items = lists.get(name);
        if (items === undefined) {
          items = [];
          lists.set(name, items);
          const value = this.#counted({ kind: 'list', items, offset: keyOffset });
          pairs.push({ key: name, keyPlain: true, keyOffset, value });
        }
        items.push(read(this));
      }
    }
    return this.#counted({ kind: 'map', pairs, offset });
  }

  #otherField(fields: Fields): void {
    if (fields === CONFIG && this.#reader.field === 1) this.#name = this.#string();
    else this.#reader.skip();
  }

  /** Reads the nested message after the current tag. */
  #within<T>(read: () => T): T {
    const reader = this.#reader;
    const at = reader.position;
    if (++this.#depth > MAX_YAML_DEPTH) {
      throw new ResourceFault(
        `nested deeper than ${MAX_YAML_DEPTH} levels at byte ${at}: write a flatter one`,
      );
    }
    const outerEnd = reader.end;
    reader.end = reader.delimited();
    const result = read();
    reader.end = outerEnd;
    this.#depth--;
    return result;
  }

  #string(): string {
    const at = this.#reader.position;
    const bytes = this.#reader.view();
    if (!isUtf8(bytes)) throw new ResourceFault(`the text at byte ${at} is not UTF-8`);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  }

  /** A double in YAML notation. */
  #double(): string {
    const reader = this.#reader;
    const at = reader.position;
    if (reader.wireType !== WIRE.fixed64) throw reader.fault('a number of another wire type', at);
    reader.skip();
    const value = new DataView(reader.bytes.buffer, reader.bytes.byteOffset + at, 8).getFloat64(0, true);
    if (Number.isNaN(value)) return '.nan';
    if (!Number.isFinite(value)) return value > 0 ? '.inf' : '-.inf';
    // `String` writes large whole numbers without an exponent, and they could exceed 64 bits.
    return Number.isSafeInteger(value) ? String(value) : value.toExponential();
  }

  #scalar(text: string, type: 'text' | 'typed'): YamlScalar {
    return this.#counted({
      kind: 'scalar',
      text,
      plain: type === 'typed',
      offset: this.#reader.position,
    });
  }

  #counted<N extends YamlNode>(node: N): N {
    if (++this.#nodes > MAX_YAML_NODES) {
      throw new ResourceFault(`it has more than ${MAX_YAML_NODES} values: split it into several resources`);
    }
    return node;
  }
}
