import { Composer, CST, type Document, Lexer, Parser, visit, type YAMLError } from 'yaml';
import { excerpt } from '../../../base/printable.ts';
import { MAX_YAML_DEPTH } from './bounds.ts';
import type { YamlFault, YamlReading } from './yaml-node.ts';
import { YamlTree } from './yaml-tree.ts';

/** Control characters that YAML does not allow (YAML 1.2, section 5.1). */
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]/;

/** A line break in YAML, which the `yaml` package treats as text. */
const LONE_CARRIAGE_RETURN = /\r(?!\n)/g;

/**
 * Reads any YAML: anchors, aliases, merge keys, flow collections, multi-line texts. As in envoyproxy/ratelimit, only the
 * first document is read; the rest of the text is not checked. Null if the text has more than `maxTokens` YAML tokens.
 */
export function readFullYaml(source: string, maxTokens: number): YamlReading | null {
  const text = source.replace(LONE_CARRIAGE_RETURN, '\n');
  const forbidden = text.search(FORBIDDEN);
  if (forbidden !== -1) return refused(forbidden, forbiddenMessage(text, forbidden));
  const document = firstDocument(text, maxTokens);
  if (document === null) return null;
  if ('message' in document) return { root: null, faults: [document] };
  const error = firstError(document);
  if (error !== null) return syntaxFault(document, error, text);
  const tree = new YamlTree();
  const root = document.contents === null ? null : tree.build(document.contents);
  if (tree.faults.length > 0) return { root: null, faults: tree.faults };
  const empty = root === null || (root.kind === 'scalar' && root.plain && root.text === '');
  return { root: empty ? null : root, faults: [] };
}

/** The failsafe schema keeps scalars as text, as the fast reader does. Their types depend on the field. */
const OPTIONS = {
  version: '1.1',
  schema: 'failsafe',
  merge: false,
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

const TOO_DEEP = `maps and lists are nested deeper than ${MAX_YAML_DEPTH} levels: write a flatter file`;

function refused(offset: number, message: string): YamlReading {
  return { root: null, faults: [{ offset, message }] };
}

/** Composes the first document. Its depth is limited during parsing, because the composer is recursive. */
function firstDocument(text: string, maxTokens: number): Document.Parsed | YamlFault | null {
  const parser = new Parser();
  const parsed: CST.Token[] = [];
  let tokens = 0;
  let documents = 0;
  let before = '';
  // Without a final line feed, the package does not notice a missing quote after a text that ends with two quotes.
  for (const source of new Lexer().lex(text.endsWith('\n') ? text : `${text}\n`)) {
    if (++tokens > maxTokens) return null;
    // A document begins with a marker of the lexer and an optional `---`, or with `---` alone.
    const begins =
      source === CST.DOCUMENT || (source === '---' && before !== CST.DOCUMENT && before !== CST.SCALAR);
    if (begins && ++documents > 1) break;
    before = source;
    for (const token of parser.next(source)) parsed.push(token);
    // The stack also contains the document and the current scalar.
    if (parser.stack.length > MAX_YAML_DEPTH + 2) return { offset: parser.offset, message: TOO_DEEP };
  }
  for (const token of parser.end()) parsed.push(token);
  const [document] = new Composer(OPTIONS).compose(parsed, true, text.length);
  return document as Document.Parsed;
}

/** The first error in the text: later errors are mostly its consequences. */
function firstError(document: Document.Parsed): YAMLError | null {
  let first: YAMLError | null = null;
  for (const error of document.errors) if (first === null || error.pos[0] < first.pos[0]) first = error;
  return first;
}

function forbiddenMessage(text: string, offset: number): string {
  const code = text.charCodeAt(offset).toString(16).toUpperCase().padStart(4, '0');
  return `the control character U+${code} is not allowed in YAML: remove it, or write it as "\\u${code}" in double quotes`;
}

const LONGEST_MESSAGE = 200;

const ADVICE: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_ALIAS: 'put quotes around text that begins with `*` or `&`',
  BAD_DQ_ESCAPE: 'write `\\\\` for a backslash in double quotes, or use single quotes',
  BAD_INDENT: 'align the line with the lines around it, and check that every bracket is closed',
  BAD_SCALAR_START: 'put quotes around text that begins with a special character',
  BLOCK_AS_IMPLICIT_KEY: 'put quotes around text that holds `: `, or begin a new line for a nested map',
  MULTILINE_IMPLICIT_KEY: 'write `: ` after the key, and check the indentation',
  TAB_AS_INDENT: 'indent with spaces',
};

function syntaxFault(document: Document.Parsed, error: YAMLError, text: string): YamlReading {
  const end = error.pos[0];
  if (error.message.startsWith('Missing closing')) {
    return refused(
      startOfScalar(document, end),
      'this is not valid YAML: the quote that opens here is never closed: write the same quote after the text',
    );
  }
  const advice =
    ADVICE[error.code] ?? 'check the quotes, the colons and the indentation here and in the line before';
  return refused(
    Math.min(end, text.length),
    `this is not valid YAML: ${excerpt(error.message, LONGEST_MESSAGE)}: ${advice}`,
  );
}

/** The package reports a missing quote at the end of the file; this finds the opening quote. */
function startOfScalar(document: Document.Parsed, end: number): number {
  let start = 0;
  visit(document, {
    Scalar(_, scalar) {
      if (scalar.range?.[1] === end) start = scalar.range[0];
    },
  });
  return start;
}
