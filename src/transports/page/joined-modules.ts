import { posix } from 'node:path';

/** What the compiler writes for imports and exports: a line each. */
const IMPORT = /^import (?:\{ (?<names>.+) \}|(?<whole>\w+)) from ['"](?<from>.+)['"];$/;
const EXPORT = /^export (?=(?:async function|function|class|const) (?<name>\w+))/;
const NOTHING = 'export {};';

/**
 * Joins compiled modules into one, so that a browser makes one request instead of a hundred. Each module becomes a
 * function that returns its exports, and runs after those that it imports. Modules of packages stay imports.
 *
 * @param modules the texts of compiled modules by path: `live/main.js`
 * @param main the path of the module that the others are joined for; those that it does not need are left out
 * @throws Error if modules import each other in a circle, or have lines that the compiler does not write
 */
export function joinedModules(modules: ReadonlyMap<string, string>, main: string): string {
  const joining = new Joining(modules);
  joining.add(main);
  return joining.text;
}

class Joining {
  readonly #modules: ReadonlyMap<string, string>;
  /** The variables with the exports of modules and packages, by path or name; null while a module is being added. */
  readonly #known = new Map<string, string | null>();
  readonly #packages: string[] = [];
  readonly #parts: string[] = [];

  constructor(modules: ReadonlyMap<string, string>) {
    this.#modules = modules;
  }

  get text(): string {
    return [...this.#packages, ...this.#parts, ''].join('\n');
  }

  /** Adds a module after those that it imports. Returns the variable with its exports. */
  add(path: string): string {
    const known = this.#known.get(path);
    if (known === null) throw new Error(`${path} imports itself through other modules`);
    if (known !== undefined) return known;
    const text = this.#modules.get(path);
    if (text === undefined) throw new Error(`there is no module ${path}`);
    this.#known.set(path, null);
    const exported: string[] = [];
    const lines = text.split('\n').map(line => this.#line(line, path, exported));
    const variable = this.#variable(path);
    const body = lines.join('\n');
    this.#parts.push(
      `// ${path}\nconst ${variable} = (() => {\n${body}\nreturn { ${exported.join(', ')} };\n})();`,
    );
    return variable;
  }

  #line(line: string, path: string, exported: string[]): string {
    if (!/^(?:import|export)\b/.test(line)) return line;
    if (line === NOTHING) return '';
    const { name } = EXPORT.exec(line)?.groups ?? {};
    if (name !== undefined) {
      exported.push(name);
      return line.replace(EXPORT, '');
    }
    const { names, whole, from } = IMPORT.exec(line)?.groups ?? {};
    if (from === undefined) throw new Error(`${path} has a line that cannot be joined: ${line}`);
    const variable = from.startsWith('.')
      ? this.add(posix.join(posix.dirname(path), from))
      : this.#package(from);
    return whole === undefined
      ? `const { ${names.replaceAll(' as ', ': ')} } = ${variable};`
      : `const ${whole} = ${variable}.default;`;
  }

  #package(name: string): string {
    const known = this.#known.get(name);
    if (typeof known === 'string') return known;
    const variable = this.#variable(name);
    this.#packages.push(`import * as ${variable} from '${name}';`);
    return variable;
  }

  #variable(name: string): string {
    const variable = `$${this.#packages.length + this.#parts.length}`;
    this.#known.set(name, variable);
    return variable;
  }
}
