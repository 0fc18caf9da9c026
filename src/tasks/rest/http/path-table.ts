/** A path that was found: the entry of its method, and its named segments. */
interface PathMatch<T> {
  readonly entry: T;
  readonly params: Readonly<Record<string, string>>;
}

/** A path that exists, but not with the requested method. */
export interface OtherMethods {
  readonly allowed: readonly string[];
}

interface Node<T> {
  readonly fixed: Map<string, Node<T>>;
  named: Node<T> | null;
  readonly leaves: Map<string, Leaf<T>>;
}

interface Leaf<T> {
  readonly entry: T;
  /** In the order of the path. */
  readonly names: readonly string[];
}

const NO_PARAMS: Readonly<Record<string, string>> = {};
/** Collections whose members have ids only, so that a fixed segment below them is never a member. */
const WITHOUT_NAMES: ReadonlySet<string> = new Set(['tasks', 'leases']);
/** More than any route has. */
const MAX_SEGMENTS = 12;

/**
 * Finds the entry of a method and a path such as `/v1/tasks/:id`. A path without named segments takes one lookup, and
 * other paths one step per segment. A fixed segment takes precedence over a named one, unless it lacks the method and a
 * member of the collection can have its name.
 */
export class PathTable<T> {
  readonly #plain = new Map<string, Map<string, PathMatch<T>>>();
  readonly #root: Node<T> = newNode();

  /** @throws Error if the table already has the method and path */
  add(method: string, path: string, entry: T): void {
    const segments = segmentsOf(path);
    const names: string[] = [];
    let node = this.#root;
    for (const segment of segments) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        node.named ??= newNode();
        node = node.named;
      } else {
        const next = node.fixed.get(segment) ?? newNode();
        node.fixed.set(segment, next);
        node = next;
      }
    }
    if (node.leaves.has(method)) throw new Error(`${method} ${path} is there twice`);
    node.leaves.set(method, { entry, names });
    if (names.length > 0) return;
    const methods = this.#plain.get(path) ?? new Map();
    this.#plain.set(path, methods.set(method, { entry, params: NO_PARAMS }));
  }

  /** Returns null if there is no such path. Named segments are still percent-encoded. */
  find(method: string, path: string): PathMatch<T> | OtherMethods | null {
    const plain = this.#plain.get(path)?.get(method);
    if (plain !== undefined) return plain;
    const segments = segmentsOf(path);
    if (segments.length > MAX_SEGMENTS) return null;
    const allowed = new Set<string>();
    const found = walk(this.#root, segments, 0, method, allowed);
    if (found !== null) return { entry: found.leaf.entry, params: named(found.leaf, found.values) };
    return allowed.size === 0 ? null : { allowed: [...allowed].sort() };
  }
}

/** Adds the methods of paths that lack the requested method to `allowed`. */
function walk<T>(
  node: Node<T>,
  segments: readonly string[],
  depth: number,
  method: string,
  allowed: Set<string>,
): { readonly leaf: Leaf<T>; readonly values: string[] } | null {
  if (depth === segments.length) {
    const leaf = node.leaves.get(method);
    if (leaf !== undefined) return { leaf, values: [] };
    for (const other of node.leaves.keys()) allowed.add(other);
    return null;
  }
  const segment = segments[depth];
  const fixed = node.fixed.get(segment);
  if (fixed !== undefined) {
    const found = walk(fixed, segments, depth + 1, method, allowed);
    if (found !== null || WITHOUT_NAMES.has(segments[depth - 1])) return found;
  }
  if (node.named === null || segment === '') return null;
  const found = walk(node.named, segments, depth + 1, method, allowed);
  found?.values.unshift(segment);
  return found;
}

function named<T>(leaf: Leaf<T>, values: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (let i = 0; i < values.length; i++) params[leaf.names[i]] = values[i];
  return params;
}

function newNode<T>(): Node<T> {
  return { fixed: new Map(), named: null, leaves: new Map() };
}

/** The number of segments is limited, so that a path of many slashes is cheap. */
function segmentsOf(path: string): string[] {
  return path.split('/', MAX_SEGMENTS + 2).slice(1);
}
