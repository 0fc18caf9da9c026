import t from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { axeFaults } from '../support/live-page.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

const EVIL = '<img src=x onerror="window.broken=1">';
const RULES = `
domain: ai
descriptors:
  - key: user
    holder: id
    rate_limits:
      - {unit: year, requests_per_unit: 20000, reserve: {for: 10m}, name: tokens}
      - {concurrency: {limit: 2, for: 10m}, name: running}
`;
const browser = new TestBrowser(t);

/** A call of a holder for the user ann; its status. */
async function call(service: ServiceProcess, holder: string, hitsAddend: number): Promise<number> {
  const entries = [
    { key: 'user', value: 'ann' },
    { key: 'id', value: holder },
  ];
  return (await askOverHttp(service.http, { domain: 'ai', descriptors: [{ entries, hitsAddend }] })).status;
}

t.test('a key shows who holds its limits, and a lease is released', { skip: BROWSER_MISSING }, async t => {
  const service = await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN } });
  await call(service, 'call-1', 1_500);
  await call(service, EVIL, 500);
  t.equal(await call(service, 'call-3', 1), 429);

  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=limit&path=ai.user.running`);
  await page.getByText(/^2 of 2, resets in/).waitFor();
  await page.goto(`http://${service.debug}/?view=limit&path=ai.user.tokens`);
  await page.getByRole('button', { name: 'user=ann' }).click();
  const key = page.getByRole('dialog');
  await key.getByText(/^2\s000 held, 0 spent$/).waitFor();
  const leases = key.getByRole('table', { name: 'Leases of ai.user.tokens' });
  await leases.getByRole('row', { name: /^call-1 1\s500 in (?:9|10) ?m/ }).waitFor();
  t.match(await leases.innerText(), EVIL, 'the name of a holder is text');
  await key.getByRole('table', { name: 'Leases of ai.user.running' }).getByText('call-1').waitFor();
  t.same(await axeFaults(page), []);

  await leases.getByRole('button', { name: 'Release the lease of call-1' }).click();
  const dialog = page.getByRole('dialog', { name: 'Release lease' });
  await dialog.getByText('Frees what call-1 holds').waitFor();
  await dialog.getByText('Do the same on the command line').click();
  await dialog
    .getByText(/sluice leases release --domain ai --descriptors user=ann --holder call-1/)
    .waitFor();
  await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
  await dialog.getByLabel('Reason').fill('stuck');
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await page.getByText(/^It held: 1\s500 of ai\.user\.tokens, 1 of ai\.user\.running\.$/).waitFor();
  t.equal(await call(service, 'call-3', 1), 200, 'there is room again');
  await service.written(/Operator change.*stuck/);

  await page.goto(
    `http://${service.debug}/?view=explain&domain=ai&ask=${encodeURIComponent('[["user","ann","id","new"]]')}`,
  );
  await page.getByText('501 held and 0 spent, 2 leases').waitFor();
  await page.getByText('refused: there is no room to do it (holds 1 hit for 10m).').waitFor();
  t.equal(await page.evaluate('window.broken'), undefined);
  t.same(faults, []);
});
