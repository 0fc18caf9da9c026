import { createHash } from 'node:crypto';
import { ICON, type PageFiles, STYLE_SHEET } from './page-files.ts';

/** The document that a browser loads first, and the header fields that restrict what it may do. */
interface PageDocument {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The document of a page. `addressOf` gives the address of a file by its path. */
export function pageDocument(
  { files, packages, main }: PageFiles,
  addressOf: (path: string) => string,
): PageDocument {
  const imports = Object.entries(packages).map(([name, path]) => [name, addressOf(path)]);
  const importMap = JSON.stringify({ imports: Object.fromEntries(imports) });
  // Without these, the browser would learn of the packages only when it has read the module that imports them.
  const preloads = files
    .filter(({ contentType }) => contentType.startsWith('text/javascript'))
    .map(({ path }) => `<link rel="modulepreload" href="${addressOf(path)}">`);
  const html = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<title>Sluice</title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<link rel="icon" type="image/svg+xml" href="${addressOf(ICON)}">`,
    `<link rel="stylesheet" href="${addressOf(STYLE_SHEET)}">`,
    // The import map must come before everything that loads modules.
    `<script type="importmap">${importMap}</script>`,
    ...preloads,
    `<script type="module" src="${addressOf(main)}"></script>`,
    '</head>',
    '<body>',
    '<div id="page"></div>',
    '<noscript>This page needs JavaScript. Without it, request this address with curl for a text.</noscript>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
  return { html, headers: { 'Content-Security-Policy': contentSecurityPolicy(importMap) } };
}

/** Everything comes from this origin, and no script is in the document except this import map. */
function contentSecurityPolicy(importMap: string): string {
  const hash = createHash('sha256').update(importMap).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
