import { nearest } from '../../../base/nearest.ts';
import { excerpt, quote } from '../../../base/printable.ts';
import { DOMAIN_BLOCKS, type DomainBlock, type RuleFault, type RuleFile } from '../../rule-set.ts';
import { fieldOf, hasValue } from '../fields/fields.ts';
import { FaultList, FileCheck } from '../fields/file-check.ts';
import { warnAboutRepeats, withUniqueKeys } from '../fields/repeated-keys.ts';
import type { ReadFile } from '../reading/read-file.ts';
import { MAX_ENTRIES, MAX_ENTRY_LEVELS } from '../yaml/bounds.ts';
import type { YamlMap, YamlNode } from '../yaml/yaml-node.ts';
import { type Named, namedBy, withLimitOf } from './aside-entries.ts';
import { type OverlayEntry, OverlayPlaces, readOverlay } from './overlay-entries.ts';
import { appliesTo, byPrecision, type OverlayConflict, textOf, withOverlay } from './overlay-fields.ts';
import { OverlayIndex } from './overlay-index.ts';
import { pathText } from './overlay-pattern.ts';

/** Maximum number of paths that are remembered, to suggest one for an entry that matches nothing. */
const MAX_KNOWN_PATHS = 10_000;

/**
 * What an overlay adds to rules, or replaces in them. It changes the trees of rule files and resources before they are
 * checked, so that the same checks apply to the result, and rules from every source have the same fields.
 */
export class Overlay {
  readonly #faults: FaultList;
  readonly #places = new OverlayPlaces();
  readonly #entries: readonly OverlayEntry[];
  /** Entries that have changed something. */
  readonly #used = new Set<OverlayEntry>();
  /** Entries whose path was found, perhaps only at entries of the rules that have no limit. */
  readonly #found = new Set<OverlayEntry>();
  /** The paths of each domain, as far as they are remembered. */
  readonly #known = new Map<string, string[]>();
  /** Number of entries of the rules that were compared, also those that aliases repeat. */
  #visited = 0;

  /** Reads overlay files. Their faults are reported. */
  constructor(files: readonly RuleFile[], faults: FaultList) {
    this.#faults = faults;
    this.#entries = readOverlay(files, this.#places, faults);
  }

  /** A rule file or a resource with all changes. Conflicts are reported. */
  applied(read: ReadFile): ReadFile {
    if (this.#entries.length === 0) return read;
    const check = new FileCheck(this.#places.with(read.check.source), this.#faults);
    const domain = textOf(read.root, 'domain');
    if (!this.#known.has(domain)) this.#known.set(domain, []);
    const entries = this.#entries.filter(entry => entry.domain.matches(domain));
    check.enterDomain(domain);
    const present = DOMAIN_BLOCKS.filter(name => fieldOf(read.root, name) !== null);
    const ofDomain = this.#withBlocks(check, read.root, entries.filter(isForDomain), present);
    const index = new OverlayIndex(entries.filter(entry => !isForDomain(entry)));
    return { check, root: this.#withEntries(check, ofDomain, { domain, path: '', index }) };
  }

  /**
   * The blocks that the overlay gives a domain whose files do not have them. They have the form of one more rule file.
   *
   * @param missing the blocks that no file of the domain has
   * @returns null if the overlay has none of them for the domain
   */
  blocksOf(domain: string, missing: readonly DomainBlock[]): ReadFile | null {
    const entries = this.#entries.filter(
      entry => isForDomain(entry) && entry.domain.matches(domain) && hasBlock(entry, missing),
    );
    if (entries.length === 0) return null;
    const check = new FileCheck(entries[0].source, this.#faults);
    check.enterDomain(domain);
    const empty: YamlMap = { kind: 'map', pairs: [], offset: entries[0].offset };
    return { check, root: this.#withBlocks(check, empty, entries, missing) };
  }

  /** Changes only these blocks of a file, because another file of the domain may have the others. */
  #withBlocks(
    check: FileCheck,
    root: YamlMap,
    entries: readonly OverlayEntry[],
    blocks: readonly DomainBlock[],
  ): YamlMap {
    const applying = entries.filter(entry => hasBlock(entry, blocks));
    for (const entry of applying) this.#used.add(entry);
    const ofBlocks = applying.map(entry => ({
      ...entry,
      fields: entry.fields.filter(({ key }) => isOneOf(key, blocks)),
    }));
    return this.#changed(check, root, ofBlocks, 'file');
  }

  /** Warns about entries that have changed nothing. Call this after all rules. */
  warnAboutUnused(onWarning: (warning: RuleFault) => void): void {
    // The warnings about rules have a bound of their own.
    const faults = new FaultList(onWarning);
    for (const entry of this.#entries) {
      if (this.#used.has(entry)) continue;
      if (faults.warnedEnough) return;
      new FileCheck(entry.source, faults).warn(
        entry.offset,
        `the overlay entry changes nothing: ${this.#why(entry)}`,
      );
    }
  }

  #why(entry: OverlayEntry): string {
    const { domain, path } = entry.written;
    const known = [...this.#known].filter(([name]) => entry.domain.matches(name));
    if (known.length === 0) {
      const near = nearest(domain.replaceAll('*', ''), [...this.#known.keys()]);
      return `no domain matches ${quote(domain)}${near === null ? '' : `; did you mean ${quote(near)}?`}`;
    }
    if (this.#found.has(entry)) {
      return `what matches ${quote(path)} has no limit; write \`requests_per_unit\` if it should get one`;
    }
    const paths = known.flatMap(([, all]) => all.map(pathText));
    const near = nearest(path.replaceAll('*', ''), paths);
    return `no path of these rules matches ${quote(path)}${near === null ? '' : `; did you mean ${quote(near)}?`}`;
  }

  /** Changes the `descriptors` of a map, on all levels. Returns the map itself if no entry of the overlay applies. */
  #withEntries(check: FileCheck, map: YamlMap, place: Place): YamlMap {
    const list = fieldOf(map, 'descriptors');
    // What is beyond these bounds is refused when it is checked.
    if (list?.kind !== 'list' || check.levels >= MAX_ENTRY_LEVELS || this.#visited > MAX_ENTRIES) return map;
    const items = list.items.map(item => this.#entry(check, item, place));
    if (items.every((item, i) => item === list.items[i])) return map;
    const pairs = map.pairs.filter(({ key }) => key !== 'descriptors');
    const pair = map.pairs.findLast(({ key }) => key === 'descriptors')!;
    const aside = place.path === '' ? undefined : items.find(item => namedBy(item) !== null);
    const below = items.filter(item => item !== aside);
    const changed = { ...map, pairs: [...pairs, { ...pair, value: { ...list, items: below } }] };
    return aside?.kind === 'map' ? this.#withLimitOf(check, changed, aside) : changed;
  }

  #withLimitOf(check: FileCheck, above: YamlMap, aside: YamlMap): YamlMap {
    if (!hasValue(above, 'rate_limit') && !hasValue(above, 'rate_limits')) return withLimitOf(above, aside);
    const { all, field } = ASIDE_WORDS[namedBy(aside)!];
    check.fault(
      aside.overlaidAt!,
      `the entry that names the ${namedBy(aside)} and the one above it both have a limit, and a counter for all ${all} would ` +
        `be that of the one above: write \`${field}\` with the key of another entry`,
    );
    return above;
  }

  #entry(check: FileCheck, item: YamlNode, above: Place): YamlNode {
    if (item.kind !== 'map') return item;
    this.#visited++;
    const [key, value] = [textOf(item, 'key'), textOf(item, 'value')];
    const { path, found } = above.index.find(above.path, key, value);
    if (this.#visited <= MAX_KNOWN_PATHS) this.#known.get(above.domain)!.push(path);
    for (const entry of found) this.#found.add(entry);
    check.enter(value === '' ? key : `${key}_${value}`);
    const applying = found.filter(entry => appliesTo(item, entry));
    const changed = this.#withEntries(check, this.#changed(check, item, applying), { ...above, path });
    check.leave();
    return changed;
  }

  #changed(
    check: FileCheck,
    written: YamlMap,
    entries: readonly OverlayEntry[],
    kind: 'file' | 'entry' = 'entry',
  ): YamlMap {
    if (entries.length === 0) return written;
    for (const entry of entries) this.#used.add(entry);
    const changed = withOverlay(unique(check, written, kind), entries.toSorted(byPrecision));
    if ('pairs' in changed) return changed;
    reportConflict(check, changed);
    return written;
  }
}

/** How messages call all values of an entry that is set aside, and the field with its key. */
const ASIDE_WORDS: Readonly<Record<Named, { readonly all: string; readonly field: string }>> = {
  class: { all: 'classes', field: 'classes' },
  holder: { all: 'holders', field: 'holder' },
};

/** Where a list of entries is, and the overlay entries that can match there. */
interface Place {
  readonly domain: string;
  readonly path: string;
  readonly index: OverlayIndex;
}

function isForDomain({ path }: OverlayEntry): boolean {
  return path === null;
}

function hasBlock({ fields }: OverlayEntry, blocks: readonly DomainBlock[]): boolean {
  return fields.some(({ key }) => isOneOf(key, blocks));
}

function isOneOf(key: string, blocks: readonly DomainBlock[]): boolean {
  return (blocks as readonly string[]).includes(key);
}

/** A map and its limit with every key once, so that each field can be replaced. */
function unique(check: FileCheck, written: YamlMap, kind: 'file' | 'entry'): YamlMap {
  const map = withUniqueKeys(check, written, kind);
  warnAboutRepeats(check, written, map, kind);
  const limit = fieldOf(map, 'rate_limit');
  if (limit?.kind !== 'map') return map;
  const value = withUniqueKeys(check, limit, 'rate_limit');
  if (value === limit) return map;
  warnAboutRepeats(check, limit, value, 'rate_limit');
  return { ...map, pairs: map.pairs.map(pair => (pair.key === 'rate_limit' ? { ...pair, value } : pair)) };
}

function reportConflict(check: FileCheck, { kind, field, first, second }: OverlayConflict): void {
  if (kind === 'list' || first === null) {
    check.fault(
      second.offset,
      'the rule has `rate_limits`, and the overlay a `rate_limit`: write `rate_limits` with all limits in the overlay',
    );
    return;
  }
  const { file, line } = check.source.placeOf(first.offset);
  check.fault(
    second.offset,
    `two overlay entries that are equally precise set \`${field}\` of this rule, the other one in ${excerpt(file)}:${line}: ` +
      'remove the field from one of them, or write more of the path or the domain instead of `*`',
  );
}
