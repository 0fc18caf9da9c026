import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { acceptsGzip } from '../../base/gzipped-json.ts';
import { type Answer, textAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Handler, RequestHead, Route } from '../http/routes.ts';
import { pageDocument } from './page-document.ts';
import { type PageFiles, type PageName, readPageFiles } from './page-files.ts';

/**
 * Where the files of pages are. The name of the page and the version follow, so that browsers need not ask again for a file
 * they have.
 */
const FILES = '/page/';

const NOT_FOUND = textAnswer(
  'There is no such file. If the page is open, load it again: Sluice was updated.\n',
  '404 Not Found',
);

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** For every answer of the page. */
const COMMON_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** A file as it is kept in memory. */
interface Kept {
  readonly contentType: string;
  readonly gzipped: Uint8Array;
  /** Identifies the bytes before compression. */
  readonly digest: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Loaded {
  readonly document: Kept;
  /** By the whole path of the request, so no path leads out of the folder. */
  readonly files: ReadonlyMap<string, Kept>;
}

/** The part of the head of a request that an answer depends on, because the head is not valid for long. */
interface Wanted {
  readonly path: string;
  readonly acceptsGzip: boolean;
  readonly ifNoneMatch: string;
}

/**
 * Serves a page: the document and its files. They are read and compressed when somebody asks for the first time,
 * and then kept in memory, compressed.
 */
export class PageRoutes {
  readonly #folder: string;
  readonly #read: () => Promise<PageFiles>;
  #loaded: Promise<Loaded> | null = null;

  constructor(page: PageName, read: () => Promise<PageFiles> = () => readPageFiles(page)) {
    this.#folder = `${FILES}${page}/`;
    this.#read = read;
  }

  /** The files of the page. */
  get files(): Route {
    return {
      path: `${this.#folder}*`,
      method: 'GET',
      help: 'the files of the page',
      handle: (exchange, request) => void this.#answer(exchange, wantedBy(request), false),
    };
  }

  /** Answers with the document if a browser asks, and leaves all other requests to `other`. */
  documentOr(other: Handler): Handler {
    return forBrowsers(this.document, other);
  }

  /** Answers with the document. */
  get document(): Handler {
    return (exchange, request) => void this.#answer(exchange, wantedBy(request), true);
  }

  /** Answers 404 with the document, which says that there is no such page. */
  get missing(): Handler {
    return (exchange, request) => void this.#answer(exchange, wantedBy(request), true, '404 Not Found');
  }

  async #answer(exchange: Exchange, wanted: Wanted, isDocument: boolean, status = '200 OK'): Promise<void> {
    try {
      const { document, files } = await this.#load();
      const kept = isDocument ? document : files.get(wanted.path);
      exchange.answer(kept === undefined ? NOT_FOUND : await answerOf(kept, wanted, status));
    } catch (thrown) {
      exchange.fail(thrown);
    }
  }

  #load(): Promise<Loaded> {
    this.#loaded ??= load(this.#folder, this.#read).catch(thrown => {
      // The next request tries again.
      this.#loaded = null;
      throw thrown;
    });
    return this.#loaded;
  }
}

/** Leaves requests of browsers for a document to `document`, and all others to `other`. */
export function forBrowsers(document: Handler, other: Handler): Handler {
  return (exchange, request) => {
    (acceptsHtml(request.header('accept')) ? document : other)(exchange, request);
  };
}

/** Whether a request is that of a browser for a document, by its field `Accept`. */
export function acceptsHtml(accept: string): boolean {
  return /\btext\/html\b/i.test(accept);
}

async function load(folder: string, read: () => Promise<PageFiles>): Promise<Loaded> {
  const all = await read();
  const addressOf = (path: string): string => `${folder}${all.version}/${path}`;
  const { html, headers } = pageDocument(all, addressOf);
  const document = { contentType: 'text/html; charset=utf-8', bytes: Buffer.from(html) };
  const files = all.files.map(
    async file =>
      [
        addressOf(file.path),
        await keep(file, { 'Cache-Control': 'public, max-age=31536000, immutable' }),
      ] as const,
  );
  return {
    document: await keep(document, {
      ...headers,
      'Cache-Control': 'no-cache',
      Vary: 'Accept, Accept-Encoding',
    }),
    files: new Map(await Promise.all(files)),
  };
}

async function keep(
  { contentType, bytes }: { readonly contentType: string; readonly bytes: Uint8Array },
  headers: Readonly<Record<string, string>>,
): Promise<Kept> {
  return {
    contentType,
    gzipped: await compress(bytes, { level: 9 }),
    digest: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
    headers: { Vary: 'Accept-Encoding', ...COMMON_HEADERS, ...headers },
  };
}

async function answerOf(
  { contentType, gzipped, digest, headers }: Kept,
  wanted: Wanted,
  status: string,
): Promise<Answer> {
  const { acceptsGzip } = wanted;
  // The tag identifies bytes, so that of the compressed ones is another.
  const tag = acceptsGzip ? `"${digest}-gz"` : `"${digest}"`;
  const fields = { ...headers, ETag: tag };
  if (matches(wanted.ifNoneMatch, tag)) {
    return { status: '304 Not Modified', contentType: '', headers: fields, body: '' };
  }
  return {
    status,
    contentType,
    headers: acceptsGzip ? { ...fields, 'Content-Encoding': 'gzip' } : fields,
    body: acceptsGzip ? gzipped : await decompress(gzipped),
    lasting: true,
  };
}

function wantedBy(request: RequestHead): Wanted {
  return {
    path: request.path,
    acceptsGzip: acceptsGzip(request.header('accept-encoding')),
    ifNoneMatch: request.header('if-none-match'),
  };
}

/** RFC 9110, 13.1.2: compares tags weakly. */
function matches(ifNoneMatch: string, tag: string): boolean {
  return ifNoneMatch.split(',').some(each => [tag, `W/${tag}`, '*'].includes(each.trim()));
}
