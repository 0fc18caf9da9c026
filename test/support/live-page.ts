import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { askOverHttp } from './asking.ts';
import { ADMIN_TOKEN } from './operator-service.ts';
import { writeRules } from './rule-files.ts';
import { type ServiceProcess, serviceFor } from './service.ts';
import { tempDirectory } from './temp-directory.ts';

/** Rules whose limits are reached, near, far, in shadow mode, and with long names. */
const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 5}
  - key: ip
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 3}
  - key: path
    value: /api/*
    descriptors:
      - key: method
        value: POST
        rate_limit: {unit: year, requests_per_unit: 1000000}
      - key: partner
        value: a-partner-with-a-name-that-is-much-longer-than-anybody-would-like-to-read
        rate_limit: {unit: year, requests_per_unit: 1000000000}
`;

/** A service with {@link RULES}, which ends with the test. */
export async function servicePage(
  t: Test,
  env: Readonly<Record<string, string>> = {},
  root: string = tempDirectory(t),
): Promise<ServiceProcess> {
  writeRules(root, { 'config/shop.yaml': RULES });
  return await serviceFor(t, { env: { RUNTIME_ROOT: root, ADMIN_TOKEN, ...env } });
}

/** The entries of descriptors, in turn. */
const ENTRIES: readonly (readonly { readonly key: string; readonly value: string }[])[] = [
  [{ key: 'user', value: 'ann' }],
  [{ key: 'user', value: 'bob' }],
  [{ key: 'ip', value: '10.0.3.7' }],
  [
    { key: 'path', value: '/api/orders' },
    { key: 'method', value: 'POST' },
  ],
  [
    { key: 'path', value: '/api/orders' },
    { key: 'partner', value: 'a-partner-with-a-name-that-is-much-longer-than-anybody-would-like-to-read' },
  ],
];

/** Pause between two requests, so that browser and service have the processor most of the time. */
const PAUSE_MS = 10;

/** Sends one request after the other over HTTP, until the returned function is called or the test ends. */
export function keepAsking(t: Test, service: ServiceProcess): () => Promise<void> {
  let ends = false;
  const asking = (async () => {
    for (let i = 0; !ends; i++) {
      const request = { domain: 'shop', descriptors: [{ entries: ENTRIES[i % ENTRIES.length] }] };
      await askOverHttp(service.http, request);
      await pause(PAUSE_MS);
    }
  })();
  const end = async () => {
    ends = true;
    await asking.catch(() => {});
  };
  t.teardown(end);
  return end;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rule of axe that depends on colors, which takes most of its time. */
const CONTRAST = 'color-contrast';

/** Which rules of axe to check. */
type AxeRules = 'all' | 'contrast' | 'all but contrast';

/** What axe finds on the page as it is: one line for each element that violates a rule. */
export async function axeFaults(page: Page, rules: AxeRules = 'all'): Promise<string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe);
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'contrast' && { runOnly: [CONTRAST] }),
    ...(rules === 'all but contrast' && { rules: { [CONTRAST]: { enabled: false } } }),
  };
  return page.evaluate(async options => {
    interface Violation {
      readonly id: string;
      readonly help: string;
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
    }
    const { axe } = globalThis as unknown as {
      readonly axe: { run(options: object): Promise<{ readonly violations: readonly Violation[] }> };
    };
    const { violations } = await axe.run(options);
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html}\n${failureSummary}`),
    );
  }, options);
}

/** Elements that reach out of the window to the right, where nobody sees them. Those in scrolling boxes do not count. */
export function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(`(async () => {
    // Plots follow a new width of the window in the next frame.
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
    const scrolls = element =>
      element !== null && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    return [...document.querySelectorAll('body *')]
      .filter(element => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element.parentElement))
      .map(element => element.outerHTML.slice(0, 200));
  })()`);
}
