import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

/** A file that the browser loads. */
interface PageFile {
  /** Below the folder of all files: `live/main.js`. */
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** The live page of operators on the debug port, or the console of tenants on the HTTP port. */
export type PageName = 'live' | 'console';

/** The files of a page. */
export interface PageFiles {
  /** In the order of their paths, the style sheet and the icon included. */
  readonly files: readonly PageFile[];
  /** Paths of the modules of packages, by the names under which other modules import them. */
  readonly packages: Readonly<Record<string, string>>;
  /** Path of the module that the page begins with. */
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

/** Reads all files of a page: about half a megabyte. */
export async function readPageFiles(page: PageName): Promise<PageFiles> {
  const packages = packageModules();
  const folders = [...SHARED, page];
  const read = [
    ...(await pathsIn(MODULES, folders, '.js')).map(path => script(path, new URL(path, MODULES))),
    ...packages.map(({ path, url }) => script(path, url)),
    readFile(new URL(ICON, SOURCES)).then(bytes => ({ path: ICON, contentType: 'image/svg+xml', bytes })),
    readStyleSheets(folders),
  ];
  const files = (await Promise.all(read)).sort((one, other) => (one.path < other.path ? -1 : 1));
  const hash = createHash('sha256');
  for (const { path, bytes } of files) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  return {
    files,
    packages: Object.fromEntries(packages.map(({ name, path }) => [name, path])),
    main: `${page}/main.js`,
    version: hash.digest('hex').slice(0, 12),
  };
}

/** The packages that modules of the page import, and where their modules are. */
function packageModules(): readonly { readonly name: string; readonly path: string; readonly url: URL }[] {
  return [
    { name: 'preact', path: 'packages/preact.js', url: resolved('preact') },
    { name: 'preact/hooks', path: 'packages/preact-hooks.js', url: resolved('preact/hooks') },
    { name: 'preact/jsx-runtime', path: 'packages/preact-jsx.js', url: resolved('preact/jsx-runtime') },
    { name: 'uplot', path: 'packages/uplot.js', url: new URL('uPlot.esm.js', resolved('uplot')) },
  ];
}

function resolved(specifier: string): URL {
  return new URL(import.meta.resolve(specifier));
}

async function script(path: string, url: URL): Promise<PageFile> {
  const text = (await readFile(url, 'utf8')).replace(SOURCE_MAP, '\n');
  return { path, contentType: SCRIPT, bytes: Buffer.from(text) };
}

/** The style sheets of packages come first, then ours by folder and path. */
async function readStyleSheets(folders: readonly string[]): Promise<PageFile> {
  const urls = [
    new URL('uPlot.min.css', resolved('uplot')),
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
