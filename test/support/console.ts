import type { Page } from 'playwright-core';
import type { ServiceProcess } from './service.ts';
import type { Tenant } from './tasks/tasks-service.ts';

/** The address of a tenant's console. Chromium resolves all names below `localhost` to this machine. */
export function consoleAddress(service: ServiceProcess, domain: string, query = ''): string {
  return `http://${domain}.localhost:${new URL(`http://${service.http}`).port}/${query}`;
}

/** Types a token into the sign-in, as a user does, and waits for the first view. */
export async function signIn(page: Page, { token }: Pick<Tenant, 'token'>): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
}
