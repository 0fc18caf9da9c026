import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { joinedModules } from './joined-modules.ts';

/** A file that the browser loads. */
interface PageFile {
  /** Below the folder of all files: `live/main.js`. */
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/**
 * The live page of operators on the debug port; the console of tenants and the documentation of their API on the HTTP
 * port.
 */
export type PageName = 'live' | 'console' | 'docs';

/** The files of a page. */
export interface PageFiles {
  /** In the order of their paths, the style sheet and the icon included. */
  readonly files: readonly PageFile[];
  /** Paths of the modules of packages, by the names under which other modules import them. */
  readonly packages: Readonly<Record<string, string>>;
  /** Path of the module with all of the page except packages. */
  readonly main: string;
  /** Changes with any of the files. */
  readonly version: string;
}

/** Path of all style sheets together. */
export const STYLE_SHEET = 'style.css';

/** Path of the icon, also among the sources. */
export const ICON = 'design/icon.svg';

/** Compiled modules, which are beside the compiled service. */
const MODULES = new URL('../../../pages/', import.meta.url);

/** Files that are served as they are. */
const SOURCES = new URL('../../../../pages/', import.meta.url);

const SCRIPT = 'text/javascript; charset=utf-8';

/** The browser would ask for these, and they are not served. */
const SOURCE_MAP = /\n\/\/# sourceMappingURL=.*\s*$/;

/** What all pages load, in the order of their style sheets. The folder of the page itself follows. */
const SHARED = ['design', 'service'];

/** Reads all files of a page: about half a megabyte of modules, which become a few files. */
export async function readPageFiles(page: PageName): Promise<PageFiles> {
  const folders = [...SHARED, page];
  const joined = await joinedText(page, folders);
  const packages = packageModules().filter(({ name }) => joined.includes(` from '${name}';`));
  const read = [
    script(mainOf(page), joined),
    ...packages.map(packageScript),
    readFile(new URL(ICON, SOURCES)).then(bytes => ({ path: ICON, contentType: 'image/svg+xml', bytes })),
    readStyleSheets(packages, folders),
  ];
  const files = (await Promise.all(read)).sort((one, other) => (one.path < other.path ? -1 : 1));
  const hash = createHash('sha256');
  for (const { path, bytes } of files) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  return {
    files,
    packages: Object.fromEntries(packages.map(({ name, path }) => [name, path])),
    main: mainOf(page),
    version: hash.digest('hex').slice(0, 12),
  };
}

/** A module of a package. */
interface PackageModule {
  /** The name under which other modules import it. */
  readonly name: string;
  readonly path: string;
  readonly url: URL;
  /** The variable with what the module exports by default, if it is a script. */
  readonly variable?: string;
  readonly styleSheet?: URL;
}

/** The packages that modules of pages import, and where their modules are. */
function packageModules(): readonly PackageModule[] {
  return [
    { name: 'preact', path: 'packages/preact.js', url: resolved('preact') },
    { name: 'preact/hooks', path: 'packages/preact-hooks.js', url: resolved('preact/hooks') },
    { name: 'preact/jsx-runtime', path: 'packages/preact-jsx.js', url: resolved('preact/jsx-runtime') },
    // The only minified file of this package is a script that sets a variable.
    {
      name: 'uplot',
      path: 'packages/uplot.js',
      url: new URL('uPlot.iife.min.js', resolved('uplot')),
      variable: 'uPlot',
      styleSheet: new URL('uPlot.min.css', resolved('uplot')),
    },
  ];
}

function resolved(specifier: string): URL {
  return new URL(import.meta.resolve(specifier));
}

/** The compiled modules of these folders that the page needs, as one. */
async function joinedText(page: PageName, folders: readonly string[]): Promise<string> {
  const paths = await pathsIn(MODULES, folders, '.js');
  const modules = paths.map(async path => [path, await scriptText(new URL(path, MODULES))] as const);
  return joinedModules(new Map(await Promise.all(modules)), `${page}/main.js`);
}

function mainOf(page: PageName): string {
  return `${page}.js`;
}

async function packageScript({ path, url, variable }: PackageModule): Promise<PageFile> {
  const text = await scriptText(url);
  return script(path, variable === undefined ? text : `${text}\nexport default ${variable};\n`);
}

function script(path: string, text: string): PageFile {
  return { path, contentType: SCRIPT, bytes: Buffer.from(text) };
}

async function scriptText(url: URL): Promise<string> {
  return (await readFile(url, 'utf8')).replace(SOURCE_MAP, '\n');
}

/** The style sheets of packages come first, then ours by folder and path. */
async function readStyleSheets(
  packages: readonly PackageModule[],
  folders: readonly string[],
): Promise<PageFile> {
  const urls = [
    ...packages.flatMap(({ styleSheet }) => (styleSheet === undefined ? [] : [styleSheet])),
    ...(await pathsIn(SOURCES, folders, '.css')).map(path => new URL(path, SOURCES)),
  ];
  const sheets = await Promise.all(urls.map(url => readFile(url, 'utf8')));
  return {
    path: STYLE_SHEET,
    contentType: 'text/css; charset=utf-8',
    bytes: Buffer.from(sheets.join('\n')),
  };
}

/** Paths of the files in these folders of `root` whose names end so, sorted inside each folder. */
async function pathsIn(root: URL, folders: readonly string[], ending: string): Promise<string[]> {
  const inEach = folders.map(async folder => {
    const paths = await readdir(new URL(`${folder}/`, root), { recursive: true });
    return paths
      .filter(path => path.endsWith(ending))
      .map(path => `${folder}/${path.replaceAll('\\', '/')}`)
      .sort();
  });
  return (await Promise.all(inEach)).flat();
}
