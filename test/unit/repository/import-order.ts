import { posix } from 'node:path';

/** The folder of what runs in browsers. */
const PAGES = 'pages';

/** The folder's own files, where its sub-folders have an order as well. */
const OWN_FILES = '(files)';

/**
 * Who may import whom: a folder may import what stands on earlier lines, and itself;
 * neighbours on a line do not import each other.
 */
const FOLDERS: readonly (readonly string[])[] = [
  ['base'],
  ['settings', 'stats', 'messages', 'http2'],
  ['grpc'],
  ['clients'],
  ['rules', 'counters', 'tasks'],
  ['steering'],
  ['decision'],
  ['quota'],
  ['rehearsal', 'mapping'],
  ['transports'],
  ['app'],
  ['cli', 'workers'],
  [PAGES],
];

/** The same inside folders that have parts, by their path below `src`, or from the top for `pages`. */
const PARTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  rules: [['conditions', 'patterns'], [OWN_FILES], ['matching', 'parse', 'words'], ['source']],
  counters: [['leases'], ['admission'], [OWN_FILES], ['redis', 'memcached', 'embedded']],
  decision: [
    ['limits'],
    ['statistics'],
    [OWN_FILES],
    ['answers'],
    ['batching', 'explain', 'decision-log', 'hot-keys'],
    ['pool', 'generations'],
  ],
  tasks: [['model'], ['store', 'sealing'], ['delivery', 'identity'], ['scheduler'], ['rest'], [OWN_FILES]],
  settings: [['kinds'], ['groups'], [OWN_FILES]],
  cli: [['terminal'], ['serve', 'client', 'operator', 'tasks'], [OWN_FILES]],
  [PAGES]: [
    ['design', 'service'],
    ['live', 'console', 'docs'],
  ],
  'rules/parse': [['yaml'], ['fields'], ['conditions', 'reading'], ['overlay', 'requests'], [OWN_FILES]],
  'counters/redis': [['protocol'], ['connections'], ['commands'], ['topology'], [OWN_FILES]],
  'tasks/store/sqlite': [['file'], ['rows'], ['operations'], ['engine']],
  'tasks/store/redis': [['lua'], ['connection'], [OWN_FILES]],
  'tasks/store/postgres': [['rows'], ['sql'], ['layout'], ['connection'], [OWN_FILES]],
  'tasks/scheduler': [
    ['thread'],
    ['health'],
    ['workers', 'attempts'],
    ['push', 'pull', 'upkeep'],
    ['schedules'],
    [OWN_FILES],
  ],
  'tasks/rest': [
    ['checks'],
    ['http'],
    ['access'],
    ['fields'],
    ['accounts', 'tasks', 'leases'],
    ['workers', 'schedules', 'usage', 'tenants'],
    ['openapi'],
    [OWN_FILES],
    ['threads'],
  ],
  http2: [[OWN_FILES], ['frame', 'hpack'], ['streams'], ['connection']],
  transports: [[OWN_FILES], ['grpc', 'http'], ['page'], ['debug']],
};

/** Settings are read where the program is put together; everybody else receives the few values they need. */
const READ_SETTINGS = ['settings', 'app', 'cli'];

/** Sources by their path from the repository's top: `src/base/clock.ts` to its text. */
export type Sources = ReadonlyMap<string, string>;

/** One sentence for each import that goes against the order, or a file that has no place in it. */
export function importFaults(sources: Sources): string[] {
  const faults: string[] = [];
  for (const [path, text] of sources) {
    if (folderOf(path) === undefined) faults.push(`${path} is in a folder without a place in the picture`);
    for (const target of relativeImports(path, text)) {
      const fault = importFault(path, target);
      if (fault !== undefined) faults.push(`${path} imports ${target}: ${fault}`);
    }
  }
  return faults;
}

/** One sentence for each import of a package that is not among `dependencies`, which is all a user gets. */
export function packageFaults(sources: Sources, dependencies: ReadonlySet<string>): string[] {
  return [...sources].flatMap(([path, text]) =>
    specifiers(text)
      .filter(specifier => !/^(\.|node:)/.test(specifier))
      .map(specifier => (/^(?:@[^/]+\/)?[^/]+/.exec(specifier) as RegExpExecArray)[0])
      .filter(name => !dependencies.has(name))
      .map(name => `${path} imports ${name}, which is not in "dependencies" of package.json`),
  );
}

/**
 * Files that import each other in a circle, also inside a folder and also by types alone. None of them can be
 * understood without the others.
 *
 * @returns one sentence for each circle, with its files in the order of the imports
 */
export function circleFaults(sources: Sources): string[] {
  const faults: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start !== -1) {
      faults.push(`${[...path.slice(start), file].join(' imports ')}: a circle`);
      return;
    }
    if (done.has(file)) return;
    done.add(file);
    path.push(file);
    for (const target of relativeImports(file, sources.get(file) ?? '')) visit(target);
    path.pop();
  };
  for (const file of sources.keys()) visit(file);
  return faults;
}

/** The order as it is shown when an import goes against it. */
export function importPicture(): string {
  const draw = (lines: readonly (readonly string[])[]) =>
    lines.map((line, depth) => `${'  '.repeat(depth + 1)}${line.join('  ')}`).join('\n');
  const parts = Object.entries(PARTS).map(([folder, lines]) => `Inside ${folder}:\n${draw(lines)}`);
  return [
    'A folder may import what stands on earlier lines, and itself; neighbours on a line do not import each other:',
    draw(FOLDERS),
    ...parts,
    `Only ${READ_SETTINGS.slice(1).join(' and ')} import settings. Nothing imports test or bench.`,
  ].join('\n');
}

function importFault(from: string, to: string): string | undefined {
  if (/^(test|bench)\//.test(to)) return 'test and bench use the program, not the other way round';
  const [importer, imported] = [folderOf(from), folderOf(to)];
  // Files that are no code, such as package.json, stand outside the order.
  if (importer === undefined || imported === undefined) return undefined;
  if (importer === PAGES && imported !== PAGES)
    return 'pages run in browsers and share no code with the service';
  if (importer !== imported)
    return orderFault(FOLDERS, importer, imported) ?? settingsFault(importer, imported);
  for (const [folder, parts] of Object.entries(PARTS)) {
    const fault = partFault(folder, parts, from, to);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Undefined also for files that are not both in the folder. */
function partFault(
  folder: string,
  parts: readonly (readonly string[])[],
  from: string,
  to: string,
): string | undefined {
  const [importer, imported] = [partOf(folder, from), partOf(folder, to)];
  return importer === undefined || imported === undefined ? undefined : orderFault(parts, importer, imported);
}

function settingsFault(importer: string, imported: string): string | undefined {
  if (imported !== 'settings' || READ_SETTINGS.includes(importer)) return undefined;
  return `${importer} does not read settings; pass it the values`;
}

function orderFault(
  lines: readonly (readonly string[])[],
  importer: string,
  imported: string,
): string | undefined {
  if (importer === imported) return undefined;
  const lineOf = (name: string) => lines.findIndex(line => line.includes(name));
  const [above, below] = [lineOf(importer), lineOf(imported)];
  if (above === -1 || below === -1)
    return `${above === -1 ? importer : imported} has no place in the picture`;
  if (above === below) return `${importer} and ${imported} are neighbours`;
  return above < below ? `${importer} stands below ${imported}` : undefined;
}

/** `rules` of `src/rules/parse/load.ts`; undefined when the file is in none of the ordered folders. */
function folderOf(path: string): string | undefined {
  const [top, folder, file] = path.split('/');
  const name = top === 'src' && file !== undefined ? folder : top;
  return FOLDERS.flat().find(known => known === name);
}

/** `parse` of `src/rules/parse/load.ts` in the folder `rules`; undefined for a file outside the folder. */
function partOf(folder: string, path: string): string | undefined {
  const start = folder === PAGES ? `${folder}/` : `src/${folder}/`;
  if (!path.startsWith(start)) return undefined;
  const [part, file] = path.slice(start.length).split('/');
  return file === undefined ? OWN_FILES : part;
}

const IMPORT =
  /^\s*(?:import|export)\s[^'";]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;

/** Paths from the repository's top of the files that `text`, which is at `path`, imports. */
function relativeImports(path: string, text: string): string[] {
  return specifiers(text)
    .filter(specifier => specifier.startsWith('.'))
    .map(specifier => posix.normalize(posix.join(posix.dirname(path), specifier)));
}

function specifiers(text: string): string[] {
  return [...text.matchAll(IMPORT)].map(match => match[1] ?? match[2] ?? match[3]);
}
