import { join } from 'node:path';
import { yamlOf } from './ops-files.ts';

// biome-ignore lint/suspicious/noExplicitAny: a manifest has no type here
export type Manifest = any;

/** What a kustomization of these files may contain. Anything else would be ignored below, so it is refused. */
const KNOWN = new Set(['apiVersion', 'kind', 'resources', 'patches', 'nameSuffix', 'labels']);

/** The field that identifies an item of a list. Lists without one are replaced as a whole. */
const ITEM_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  env: ['name'],
  volumes: ['name'],
  volumeMounts: ['mountPath'],
  ports: ['containerPort', 'port'],
};

/**
 * The manifests of a folder below `ops`, as kustomize renders them: resources, strategic merge patches, a suffix of names,
 * and labels that are also selectors. A test compares the result with that of kustomize, where it is installed.
 */
export function rendered(folder: string): Manifest[] {
  const [kustomization] = yamlOf(join(folder, 'kustomization.yaml'));
  const unknown = Object.keys(kustomization).filter(field => !KNOWN.has(field));
  if (unknown.length > 0) throw new Error(`${folder}: the test does not know ${unknown.join(', ')}`);
  let manifests: Manifest[] = kustomization.resources.flatMap((resource: string) =>
    resource.endsWith('.yaml') ? yamlOf(join(folder, resource)) : rendered(join(folder, resource)),
  );
  for (const { path } of kustomization.patches ?? []) {
    for (const patch of yamlOf(join(folder, path))) manifests = patched(manifests, patch, path);
  }
  const suffix: string = kustomization.nameSuffix ?? '';
  const suffixed = manifests.map(manifest => withSuffix(manifest, suffix, manifests));
  return suffixed.map(manifest => withLabels(manifest, kustomization.labels?.[0].pairs ?? {}));
}

/** Manifests in an order and with lists in an order that do not depend on who rendered them. */
export function ordered(manifests: readonly Manifest[]): Manifest[] {
  const name = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
  return manifests.map(each => sortItems(each)).sort((a, b) => name(a).localeCompare(name(b)));
}

function patched(manifests: Manifest[], patch: Manifest, path: string): Manifest[] {
  const isTarget = ({ kind, metadata }: Manifest) =>
    kind === patch.kind && metadata.name === patch.metadata.name;
  if (!manifests.some(isTarget)) throw new Error(`${path}: no ${patch.kind} ${patch.metadata.name}`);
  if (patch.$patch === 'delete') return manifests.filter(manifest => !isTarget(manifest));
  return manifests.map(manifest => (isTarget(manifest) ? merged(manifest, patch) : manifest));
}

function merged(base: Manifest, patch: Manifest, field = ''): Manifest {
  if (Array.isArray(patch)) {
    const key = itemKey(field, patch);
    return key === undefined ? patch : mergedItems(base ?? [], patch, key);
  }
  if (!isObject(patch)) return patch;
  const result: Record<string, Manifest> = { ...(isObject(base) ? base : {}) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value, name);
  }
  return result;
}

function mergedItems(base: readonly Manifest[], patch: readonly Manifest[], key: string): Manifest[] {
  const items = new Map(base.map(item => [item[key], item]));
  for (const item of patch) {
    if (item.$patch === 'delete') items.delete(item[key]);
    else items.set(item[key], merged(items.get(item[key]), item));
  }
  return [...items.values()];
}

function itemKey(field: string, items: readonly Manifest[]): string | undefined {
  return ITEM_KEYS[field]?.find(key => items.every(item => isObject(item) && key in item));
}

/** Adds the suffix to the name of a manifest, and to names in it that are those of other manifests. */
function withSuffix(manifest: Manifest, suffix: string, all: readonly Manifest[]): Manifest {
  const isOurs = (kind: string, name: string) =>
    all.some(other => other.kind === kind && other.metadata.name === name);
  const referred = (value: Manifest, field: string): Manifest => {
    if (Array.isArray(value)) return value.map(item => referred(item, field));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([name, each]) => [name, referred(each, name)]);
    const result = Object.fromEntries(entries);
    const kind = field === 'configMap' ? 'ConfigMap' : field === 'scaleTargetRef' ? result.kind : undefined;
    if (kind !== undefined && isOurs(kind, result.name)) result.name += suffix;
    return result;
  };
  const result = referred(manifest, '');
  return { ...result, metadata: { ...result.metadata, name: result.metadata.name + suffix } };
}

/** Sets labels of a manifest and of its pods, and in what it selects pods by. */
function withLabels(manifest: Manifest, labels: Readonly<Record<string, string>>): Manifest {
  if (Object.keys(labels).length === 0) return manifest;
  const visit = (value: Manifest, field: string): Manifest => {
    if (Array.isArray(value)) return value.map(item => visit(item, field));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([name, each]) => [name, visit(each, name)]);
    const result = Object.fromEntries(entries);
    if (field === 'metadata') result.labels = { ...result.labels, ...labels };
    if (
      field === 'podSelector' ||
      field === 'labelSelector' ||
      (field === 'selector' && 'matchLabels' in result)
    )
      result.matchLabels = { ...result.matchLabels, ...labels };
    else if (field === 'selector') Object.assign(result, labels);
    return result;
  };
  return visit(manifest, '');
}

function sortItems(value: Manifest, field = ''): Manifest {
  if (Array.isArray(value)) {
    const items = value.map(item => sortItems(item));
    const key = itemKey(field, items);
    return key === undefined ? items : items.sort((a, b) => String(a[key]).localeCompare(String(b[key])));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, sortItems(each, name)]));
}

function isObject(value: unknown): value is Record<string, Manifest> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
