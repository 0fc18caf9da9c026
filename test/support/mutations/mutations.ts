/** A change of one line that the tests should notice. */
export interface Mutation {
  /** What is changed, such as `< to <=`. */
  readonly change: string;
  /** The changed line; empty if the statement is removed. */
  readonly line: string;
}

/** What stands for what, if it has space on both sides. The last four are Lua. */
const TURNED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '+=': '-=',
  '-=': '+=',
  '==': '~=',
  '~=': '==',
  and: 'or',
  or: 'and',
};
const OPERATOR = /(?<=^|\s)(?:[<>]=?|[!=]==|&&|\|\||[+-]=?|[=~]=|and|or)(?=\s|$)/g;
const NUMBER = /(?<![\w.$])(?:0x[\da-f]+|\d[\d_]*)(?![\w.])/g;
const TRUTH = /\b(?:true|false)\b/g;
const STRING = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/g;

/** A result that is a boolean by its operators or by the name of what returns it. */
const BOOLEAN =
  /[!=]==| [<>]=? |&&|\|\||^!|\b(?:is|has|can|may|some|every|includes|startsWith|endsWith|test)\w*\(/;
/** A call that is a whole line. Whether its statement begins here, the line before says. */
const CALL = /^\s*(?!return|throw|super|if|for|while|function|local)(?:await |void )?[\w$.#?!]+\(.*\);?$/;
const STATEMENT_END = /^\s*\/\/|(?:[{};:]|\*\/|\bthen|\bdo|\belse|\))$|^$/;

/** Returns the numbers of the lines with code, counted from 0. Text in templates is code where it is Lua. */
export function codeLines(path: string, text: string): number[] {
  const numbers: number[] = [];
  let isInTemplate = false;
  for (const [number, line] of text.split('\n').entries()) {
    const wasInTemplate = isInTemplate;
    if ((withoutStrings(line).match(/`/g)?.length ?? 0) % 2 === 1) isInTemplate = !isInTemplate;
    if (/^\s*(?:$|\*|\/\*|\/\/|--|import\b|export \*|(?:export )?(?:interface|type)\b)/.test(line)) continue;
    if (wasInTemplate && !isLua(path)) continue;
    numbers.push(number);
  }
  return numbers;
}

/** Returns all mutations of a line. `before` is the line before it. */
export function mutationsOf(path: string, line: string, before: string): Mutation[] {
  const code = withoutStrings(line);
  const replaced = (match: RegExpMatchArray, by: string): Mutation => ({
    change: `${match[0]} to ${by}`,
    line: line.slice(0, match.index) + by + line.slice((match.index as number) + match[0].length),
  });
  const mutations = [
    ...[...code.matchAll(OPERATOR)]
      .filter(match => isLua(path) || !/^(?:and|or|[=~]=)$/.test(match[0]))
      .map(match => replaced(match, TURNED[match[0]])),
    ...[...code.matchAll(NUMBER)].map(match =>
      replaced(match, String(Number(match[0].replaceAll('_', '')) + 1)),
    ),
    ...[...code.matchAll(TRUTH)].map(match => replaced(match, match[0] === 'true' ? 'false' : 'true')),
  ];
  const condition = conditionIn(code);
  if (condition !== undefined) {
    const [start, end] = condition;
    const negated = `!(${line.slice(start, end)})`;
    mutations.push({ change: 'condition negated', line: line.slice(0, start) + negated + line.slice(end) });
  }
  const result = /^\s*return (.+);$/.exec(code)?.[1];
  if (result !== undefined && BOOLEAN.test(result)) {
    const at = line.indexOf('return ') + 'return '.length;
    mutations.push({ change: 'result negated', line: `${line.slice(0, at)}!(${line.slice(at, -1)});` });
  }
  const opened = code.split('(').length - code.split(')').length;
  if (CALL.test(code) && opened === 0 && STATEMENT_END.test(before.trim()))
    mutations.push({ change: 'statement removed', line: '' });
  return mutations;
}

/** Returns where the condition of `if (…)` or `while (…)` begins and ends; undefined if it is not in this line. */
function conditionIn(code: string): [start: number, end: number] | undefined {
  const found = /\b(?:if|while) \(/.exec(code);
  if (found === null) return undefined;
  const start = found.index + found[0].length;
  let depth = 1;
  for (let at = start; at < code.length; at++) {
    if (code[at] === '(') depth++;
    if (code[at] === ')' && --depth === 0) return [start, at];
  }
  return undefined;
}

/** Returns the line with its strings and comments overwritten, so that everything keeps its place. */
function withoutStrings(line: string): string {
  return line
    .replace(STRING, text => text[0] + '_'.repeat(text.length - 2) + text[0])
    .replace(/(?:\/\/|--\s).*$/, comment => ' '.repeat(comment.length));
}

function isLua(path: string): boolean {
  return path.includes('/lua/');
}
