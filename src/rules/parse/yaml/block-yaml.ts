import { MAX_YAML_DEPTH } from './bounds.ts';
import { CODE, YamlCursor } from './yaml-cursor.ts';
import type { YamlList, YamlMap, YamlNode, YamlPair } from './yaml-node.ts';

/** The tree of a text (null when it holds nothing), or where the reader met something that it does not know. */
export type BlockReading =
  | { readonly known: true; readonly root: YamlNode | null }
  | { readonly known: false; readonly offset: number };

/**
 * Reads the YAML that rule files are written in: block maps and lists, one-line scalars and flow collections, comments.
 * One pass, ten to twenty times as fast as a complete YAML reader. At anything else (anchors, aliases, tags, texts of
 * several lines, merge keys, tabs, directives, a second document, every error) it stops and says where: it never
 * guesses, so that whatever it accepts means the same to the complete reader.
 *
 * @param words texts that are expected often: they come back as the very strings given here, which makes comparing them
 *   with these strings cheap
 */
export function readBlockYaml(text: string, words: readonly string[] = []): BlockReading {
  return new BlockReader(text, words).read();
}

/** Where the text ends: less than every indent. */
const NO_LINE = -1;

/** Methods that give null or false have stopped; the cursor is where. */
class BlockReader {
  readonly #cursor: YamlCursor;
  /** Column from 0 of the content that comes next; {@link NO_LINE} at the end. */
  #indent = 0;
  /** Items and pairs of the collections that are being read; arrays that grow one by one would keep their slack. */
  readonly #openItems: YamlNode[] = [];
  readonly #openPairs: YamlPair[] = [];

  constructor(text: string, words: readonly string[]) {
    this.#cursor = new YamlCursor(text, words);
  }

  read(): BlockReading {
    const stopped = (): BlockReading => ({ known: false, offset: this.#cursor.at });
    if (!this.#start()) return stopped();
    if (this.#indent === NO_LINE) return { known: true, root: null };
    const root = this.#block(1);
    return root === null || this.#indent !== NO_LINE ? stopped() : { known: true, root };
  }

  /** To the first content, over comments and one mark of a document's start. */
  #start(): boolean {
    if (this.#nextLine()) return true;
    if (!this.#cursor.text.startsWith('---', this.#cursor.at)) return false;
    this.#cursor.at += 3;
    return this.#endLine();
  }

  /** From the start of a line to the next content, whose column is kept. */
  #nextLine(): boolean {
    const cursor = this.#cursor;
    while (cursor.at < cursor.text.length) {
      const lineStart = cursor.at;
      cursor.passSpaces();
      if (cursor.atLineEnd()) {
        if (!cursor.passLineEnd()) return false;
        continue;
      }
      this.#indent = cursor.at - lineStart;
      return this.#indent > 0 || !this.#atDocumentMark();
    }
    this.#indent = NO_LINE;
    return true;
  }

  #atDocumentMark(): boolean {
    const { code, text, at } = this.#cursor;
    if (code !== CODE.dash && code !== CODE.dot) return false;
    return text.startsWith('---', at) || text.startsWith('...', at);
  }

  /** From the end of a value over spaces and a comment to the next content. */
  #endLine(): boolean {
    this.#cursor.passSpaces();
    return this.#cursor.passLineEnd() && this.#nextLine();
  }

  /** The map or list whose first line is the current one. */
  #block(depth: number): YamlNode | null {
    const cursor = this.#cursor;
    if (cursor.atDash()) return this.#list(this.#indent, depth);
    // A scalar on a line of its own may go on in the next one, so only keys are read here.
    return cursor.scan() && cursor.atKeyColon() ? this.#map(this.#indent, depth) : null;
  }

  /** A list whose dashes stand in the column `indent`, from its first dash. */
  #list(indent: number, depth: number): YamlList | null {
    const cursor = this.#cursor;
    if (depth > MAX_YAML_DEPTH) return null;
    const offset = cursor.at;
    const first = this.#openItems.length;
    do {
      const item = cursor.countNode() ? this.#item(indent, depth) : null;
      if (item === null) return null;
      this.#openItems.push(item);
    } while (this.#indent === indent && cursor.atDash());
    // A line that stands further in than the dashes fits nowhere above either, and stops the reader there.
    return { kind: 'list', items: this.#openItems.splice(first), offset };
  }

  /** What follows a dash in the column `indent`. */
  #item(indent: number, depth: number): YamlNode | null {
    const cursor = this.#cursor;
    const dash = cursor.at++;
    cursor.passSpaces();
    if (cursor.atLineEnd()) return this.#endLine() && this.#indent > indent ? this.#block(depth + 1) : null;
    if (cursor.atDash()) return null;
    if (atFlow(cursor)) return this.#inOneLine(readFlow(cursor, depth + 1), indent);
    if (!cursor.scan()) return null;
    if (!cursor.atKeyColon()) return this.#inOneLine(this.#scalar(), indent);
    // `- key: value`: the map's column is that of its first key.
    this.#indent = indent + cursor.scalarOffset - dash;
    return this.#map(this.#indent, depth + 1);
  }

  /** A map whose keys stand in the column `indent`, from the colon of its first key. */
  #map(indent: number, depth: number): YamlMap | null {
    const cursor = this.#cursor;
    if (depth > MAX_YAML_DEPTH) return null;
    const offset = cursor.scalarOffset;
    const first = this.#openPairs.length;
    for (;;) {
      const { scalarText: key, scalarPlain: keyPlain, scalarOffset: keyOffset } = cursor;
      if (cursor.isOddKey() || !cursor.countNode()) return null;
      const value = this.#value(indent, depth);
      if (value === null) return null;
      this.#openPairs.push({ key, keyPlain, keyOffset, value });
      if (this.#indent < indent) return { kind: 'map', pairs: this.#openPairs.splice(first), offset };
      if (this.#indent > indent || cursor.atDash() || !cursor.scan() || !cursor.atKeyColon()) return null;
    }
  }

  /** What follows the colon of a key in the column `indent`. */
  #value(indent: number, depth: number): YamlNode | null {
    const cursor = this.#cursor;
    const keyOffset = cursor.scalarOffset;
    cursor.at++;
    cursor.passSpaces();
    if (!cursor.atLineEnd()) {
      if (atFlow(cursor)) return this.#inOneLine(readFlow(cursor, depth + 1), indent);
      return cursor.atDash() || !cursor.scan() ? null : this.#inOneLine(this.#scalar(), indent);
    }
    if (!this.#endLine()) return null;
    if (this.#indent > indent) return this.#block(depth + 1);
    // A list may stand in the column of the key that it belongs to.
    if (this.#indent === indent && cursor.atDash()) return this.#list(indent, depth + 1);
    return { kind: 'scalar', text: '', plain: true, offset: keyOffset };
  }

  /** The scalar that was scanned. */
  #scalar(): YamlNode {
    const { scalarText: text, scalarPlain: plain, scalarOffset: offset } = this.#cursor;
    return { kind: 'scalar', text, plain, offset };
  }

  /** Ends the line of a value that belongs to something in the column `indent`. */
  #inOneLine(value: YamlNode | null, indent: number): YamlNode | null {
    // A deeper line after it would be more of the same value. At a colon the value is a key, and the line does not end.
    return value !== null && this.#endLine() && this.#indent <= indent ? value : null;
  }
}

/** At the start of a flow collection. */
function atFlow(cursor: YamlCursor): boolean {
  return cursor.code === CODE.openMap || cursor.code === CODE.openList;
}

/**
 * Reads a flow collection that begins and ends in one line, as in `rate_limit: {unit: day, requests_per_unit: 5}`,
 * and the spaces behind it. Null for everything unusual: keys without a value, `:` without a space, comments.
 */
function readFlow(cursor: YamlCursor, depth: number): YamlNode | null {
  if (depth > MAX_YAML_DEPTH) return null;
  return cursor.code === CODE.openMap ? readFlowMap(cursor, depth) : readFlowList(cursor, depth);
}

function readFlowMap(cursor: YamlCursor, depth: number): YamlNode | null {
  const offset = cursor.at;
  const pairs: YamlPair[] = [];
  pass(cursor);
  while (cursor.code !== CODE.closeMap) {
    if (!cursor.scanInFlow() || !cursor.atKeyColon() || cursor.isOddKey()) return null;
    const { scalarText: key, scalarPlain: keyPlain, scalarOffset: keyOffset } = cursor;
    pass(cursor);
    const value = readFlowValue(cursor, depth);
    if (value === null) return null;
    pairs.push({ key, keyPlain, keyOffset, value });
    if (cursor.code === CODE.comma) pass(cursor);
    else if (cursor.code !== CODE.closeMap) return null;
  }
  pass(cursor);
  return { kind: 'map', pairs, offset };
}

function readFlowList(cursor: YamlCursor, depth: number): YamlNode | null {
  const offset = cursor.at;
  const items: YamlNode[] = [];
  pass(cursor);
  while (cursor.code !== CODE.closeList) {
    const item = readFlowValue(cursor, depth);
    if (item === null) return null;
    items.push(item);
    if (cursor.code === CODE.comma) pass(cursor);
    else if (cursor.code !== CODE.closeList) return null;
  }
  pass(cursor);
  return { kind: 'list', items, offset };
}

function readFlowValue(cursor: YamlCursor, depth: number): YamlNode | null {
  if (!cursor.countNode()) return null;
  if (atFlow(cursor)) return readFlow(cursor, depth + 1);
  if (!cursor.scanInFlow()) return null;
  return { kind: 'scalar', text: cursor.scalarText, plain: cursor.scalarPlain, offset: cursor.scalarOffset };
}

/** Passes over one character and the spaces behind it. */
function pass(cursor: YamlCursor): void {
  cursor.at++;
  cursor.passSpaces();
}
