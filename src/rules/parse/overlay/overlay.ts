import { nearest } from '../../../base/nearest.ts';
import { excerpt, quote } from '../../../base/printable.ts';
import type { RuleFile } from '../../rule-set.ts';
import { fieldOf, hasValue } from '../fields/fields.ts';
import { type FaultList, FileCheck } from '../fields/file-check.ts';
import type { ReadFile } from '../reading/read-file.ts';
import { MAX_ENTRIES, MAX_ENTRY_LEVELS } from '../yaml/bounds.ts';
import type { YamlMap, YamlNode } from '../yaml/yaml-node.ts';
import { described, type OverlayEntry, OverlayPlaces, readOverlay } from './overlay-entries.ts';
import { appliesTo, byPrecision, type OverlayConflict, withOverlay } from './overlay-fields.ts';
import { pathBelow, pathText } from './overlay-pattern.ts';

/** Maximum number of paths that are remembered, to suggest one for an entry that matches nothing. */
const MAX_KNOWN_PATHS = 10_000;

/**
 * What an overlay adds to rules, or replaces in them. It changes the trees of rule files and resources before they are
 * checked, so that the same checks apply to the result, and rules from every source have the same fields.
 */
export class Overlay {
  readonly #faults: FaultList;
  readonly #places = new OverlayPlaces();
  /** From the least to the most precise. */
  readonly #entries: readonly OverlayEntry[];
  readonly #known: string[] = [];
  /** Number of entries that were compared, also those that aliases repeat. */
  #visited = 0;
  readonly #domains = new Set<string>();

  /** Reads overlay files. Their faults are reported. */
  constructor(files: readonly RuleFile[], faults: FaultList) {
    this.#faults = faults;
    this.#entries = readOverlay(files, this.#places, faults).toSorted(byPrecision);
  }

  /** A rule file or a resource with all changes. Conflicts are reported. */
  applied(read: ReadFile): ReadFile {
    if (this.#entries.length === 0) return read;
    const check = new FileCheck(this.#places.with(read.check.source), this.#faults);
    return { check, root: this.#root(check, read.root) };
  }

  /** The top-level map with all changes. The same map if nothing applies. */
  #root(check: FileCheck, root: YamlMap): YamlMap {
    const domain = textOf(root, 'domain');
    // Only one of the files of a domain can have `answers`.
    const isKnown = this.#domains.has(domain);
    this.#domains.add(domain);
    const entries = this.#entries.filter(entry => entry.domain.matches(domain));
    check.enterDomain(domain);
    const forDomain = isKnown ? [] : entries.filter(({ path }) => path === null);
    const forRules = entries.filter(({ path }) => path !== null);
    return this.#withEntries(check, this.#changed(check, root, forDomain), '', forRules);
  }

  /** Warns about entries that have changed nothing. Call this after all rules. */
  warnAboutUnused(): void {
    for (const entry of this.#entries) {
      if (entry.isUsed) continue;
      if (this.#faults.warnedEnough) return;
      entry.check.warn(
        entry.offset,
        `the overlay entry matches nothing: there is no rule with ${described(entry)}${this.#hint(entry)}`,
      );
    }
  }

  #hint({ written: { domain, path } }: OverlayEntry): string {
    if (path === '') {
      const near = nearest(domain, [...this.#domains]);
      return near === null ? '' : `; did you mean the domain ${quote(near)}?`;
    }
    const near = nearest(path.replaceAll('*', ''), this.#known.map(pathText));
    return near === null ? '' : `; did you mean the path ${quote(near)}?`;
  }

  /** A map whose `descriptors` are changed, on all levels. The same map if nothing applies. */
  #withEntries(check: FileCheck, map: YamlMap, above: string, entries: readonly OverlayEntry[]): YamlMap {
    const list = fieldOf(map, 'descriptors');
    // What is beyond these bounds is refused when it is checked.
    if (list?.kind !== 'list' || check.levels >= MAX_ENTRY_LEVELS || this.#visited > MAX_ENTRIES) return map;
    const items = list.items.map(item => this.#entry(check, item, above, entries));
    if (items.every((item, i) => item === list.items[i])) return map;
    const pairs = map.pairs.filter(({ key }) => key !== 'descriptors');
    const pair = map.pairs.findLast(({ key }) => key === 'descriptors')!;
    return { ...map, pairs: [...pairs, { ...pair, value: { ...list, items } }] };
  }

  #entry(check: FileCheck, item: YamlNode, above: string, entries: readonly OverlayEntry[]): YamlNode {
    if (item.kind !== 'map') return item;
    this.#visited++;
    const [key, value] = [textOf(item, 'key'), textOf(item, 'value')];
    const path = pathBelow(above, key, value);
    if (this.#known.length < MAX_KNOWN_PATHS) this.#known.push(path);
    check.enter(value === '' ? key : `${key}_${value}`);
    const matching = entries.filter(entry => entry.path!.matches(path) && appliesTo(item, entry));
    const changed = this.#changed(check, item, matching);
    const whole = this.#withEntries(check, changed, path, entries);
    check.leave();
    return whole;
  }

  #changed(check: FileCheck, map: YamlMap, entries: readonly OverlayEntry[]): YamlMap {
    if (entries.length === 0) return map;
    for (const entry of entries) entry.isUsed = true;
    const changed = withOverlay(map, entries);
    if ('pairs' in changed) return this.#checkList(check, map, changed);
    reportConflict(check, changed);
    return map;
  }

  /** Reports a `rate_limit` that would replace several limits. */
  #checkList(check: FileCheck, map: YamlMap, changed: YamlMap): YamlMap {
    const block = fieldOf(changed, 'rate_limit');
    if (block === null || !hasValue(map, 'rate_limits')) return changed;
    check.fault(
      block.offset,
      'the rule has `rate_limits`, and the overlay a `rate_limit`: write `rate_limits` with all limits in the overlay',
    );
    return map;
  }
}

function reportConflict(check: FileCheck, { field, first, second }: OverlayConflict): void {
  const { file, line } = check.source.placeOf(first.offset);
  check.fault(
    second.offset,
    `two overlay entries that are equally precise set \`${field}\` of this rule, the other one in ${excerpt(file)}:${line}: ` +
      'remove the field from one of them, or write more of the path or the domain instead of `*`',
  );
}

/** A text field before it was checked; empty if it is not a text. */
function textOf(map: YamlMap, name: string): string {
  const node = fieldOf(map, name);
  return node?.kind === 'scalar' ? node.text : '';
}
