import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import type { Test } from 'tap';

/** Names of Chromium and its relatives, and where they are if they are not on the PATH. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/snap/bin'];
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/** Path of an installed Chromium; undefined if there is none. */
function chromiumPath(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...FOLDERS];
  const paths = [...folders.flatMap(folder => NAMES.map(name => join(folder, name))), MAC];
  return paths.find(isExecutable);
}

/** Why tests in a browser cannot run, for `skip`; false if they can. */
export const BROWSER_MISSING: string | false =
  chromiumPath() === undefined && 'needs Chromium: the Debian package chromium, or Google Chrome';

/** What a page did that a page of Sluice must not do, one sentence each. */
export type PageFaults = readonly string[];

/** A page in a browser, and what went wrong in it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the console, violations of the content security policy, requests to other origins. */
  readonly faults: PageFaults;
  /** Bytes of the bodies of the document and of files of the page, as they were sent. */
  pageBytes(): Promise<number>;
}

/** Chromium for the tests of one file. It starts with the first page. */
export class TestBrowser {
  #started: Promise<Browser> | null = null;

  /** @param whole the whole file, at whose end the browser is closed */
  constructor(whole: Pick<Test, 'teardown'>) {
    whole.teardown(async () => (await this.#started)?.close());
  }

  /** Opens an address in a window of its own, which shares nothing with other windows, until the end of the test. */
  async open(
    t: Pick<Test, 'teardown'>,
    address: string,
    options: BrowserContextOptions = {},
  ): Promise<WatchedPage> {
    this.#started ??= launch();
    const browser = await this.#started;
    const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', ...options });
    t.teardown(() => context.close());
    const page = await context.newPage();
    const faults: string[] = [];
    const sizes: Promise<number>[] = [];
    const { origin, pathname: start } = new URL(address);
    watchConsole(page, faults);
    await watchPolicy(context, page, faults);
    page.on('request', request => {
      if (!request.url().startsWith(`${origin}/`)) faults.push(`request to ${request.url()}`);
    });
    page.on('requestfinished', request => {
      const { pathname } = new URL(request.url());
      if (pathname !== start && !pathname.startsWith('/page/')) return;
      sizes.push(
        request.sizes().then(
          ({ responseBodySize }) => responseBodySize,
          // The page was closed meanwhile.
          () => 0,
        ),
      );
    });
    await page.goto(address);
    return {
      page,
      faults,
      pageBytes: async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0),
    };
  }
}

/** When the page painted something for the first time, in milliseconds after the request. The browser reports it later. */
export async function firstPaintMs(page: Page): Promise<number> {
  const painted = await page.evaluate(`new Promise(resolve => {
    new PerformanceObserver(list => {
      const [entry] = list.getEntriesByName('first-contentful-paint');
      if (entry !== undefined) resolve(entry.startTime);
    }).observe({ type: 'paint', buffered: true });
  })`);
  return Math.round(painted as number);
}

function launch(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error(String(BROWSER_MISSING));
  // Chromium does not start its sandbox for root. The pages that are opened are our own.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

function watchConsole(page: Page, faults: string[]): void {
  page.on('pageerror', error => faults.push(`uncaught error: ${error.stack ?? error.message}`));
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) {
      faults.push(`${message.type()} in the console: ${message.text()} (${message.location().url})`);
    }
  });
}

/** The page reports violations as events, also those that the console does not show. */
async function watchPolicy(context: BrowserContext, page: Page, faults: string[]): Promise<void> {
  await page.exposeFunction('reportViolation', (violation: string) => faults.push(violation));
  await context.addInitScript({
    content: `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      reportViolation('content security policy: ' + violatedDirective + ' blocked ' + blockedURI));`,
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
