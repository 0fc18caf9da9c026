import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { axeFaults, overflowing } from './live-page.ts';
import { repositoryRoot } from './repository.ts';

/** Where pictures of pages are put, for people. */
const SCREENSHOTS = join(repositoryRoot(), 'build/screenshots');
const WIDE = { width: 1280, height: 800 };
const MEDIUM = { width: 800, height: 800 };
export const NARROW = { width: 360, height: 800 };

/** The first look, in which a page has to be before {@link lookAt}: wide and light. */
export async function firstLook(page: Page): Promise<void> {
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Looks at what is shown at three widths and in both schemes, without loading it again: it must be accessible, and fit. */
export async function lookAt(t: Test, page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const picture = (look: string) =>
    page.screenshot({ path: join(SCREENSHOTS, `${name}-${look}.png`), fullPage: true });
  t.same(await axeFaults(page), [], name);
  t.same(await overflowing(page), [], name);
  await picture('1280-light');
  await page.emulateMedia({ colorScheme: 'dark' });
  t.same(await axeFaults(page, 'contrast'), [], `${name}, dark`);
  await page.setViewportSize(MEDIUM);
  t.same(await axeFaults(page, 'all but contrast'), [], `${name}, at 800 pixels`);
  t.same(await overflowing(page), [], `${name}, at 800 pixels`);
  await page.setViewportSize(NARROW);
  t.same(await axeFaults(page), [], `${name}, at 360 pixels, dark`);
  t.same(await overflowing(page), [], `${name}, at 360 pixels`);
  await picture('360-dark');
}
