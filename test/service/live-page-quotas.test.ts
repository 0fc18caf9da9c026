import t, { type Test } from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { firstLook, lookAt } from '../support/page-looks.ts';
import { QuotaClient, type Reported } from '../support/quota/quota-client.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

const EVIL = '<img src=x onerror="window.broken=1">';
const LONG = 'a-customer-with-a-name-that-is-much-longer-than-anybody-would-like-to-read-in-a-table';
const RULES = `
domain: api
descriptors:
  - key: user
    descriptors:
      - key: plan
        rate_limits:
          - {unit: day, requests_per_unit: 100000}
          - {window: 10m, requests_per_unit: 9000, algorithm: sliding_window, name: burst}
        quota: {share: 80%}
  - key: closed
    rate_limit: {unit: day, requests_per_unit: 0}
`;

const options = { skip: BROWSER_MISSING };
/** Colors that change slowly are looked at too early. */
const STILL = { reducedMotion: 'reduce' } as const;
const browser = new TestBrowser(t);

const ANN: Reported = {
  entries: [
    ['plan', 'free'],
    ['user', 'ann'],
  ],
  allowed: 30,
  denied: 10,
};

async function started(t: Test): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN } });
}

function address(service: ServiceProcess, query: string): string {
  return `http://${service.debug}/?${query}`;
}

t.test('without proxies, the view says what it is about', options, async t => {
  const service = await started(t);
  const { page, faults } = await browser.open(t, address(service, 'view=quotas'), STILL);
  await firstLook(page);
  await page.getByText('No proxy reports to this process').waitFor();
  await lookAt(t, page, 'quotas-empty');
  await page.goto(address(service, 'view=quota&domain=api&bucket=["user","ann"]'));
  await page.getByText('No proxy reports api › user=ann').waitFor();
  await page.getByRole('link', { name: 'Show all buckets' }).click();
  await page.getByText('No proxy reports to this process').waitFor();
  t.same(faults, []);
});

t.test('a bucket opens to its limits and proxies, and can be changed', options, async t => {
  const service = await started(t);
  const proxies = Array.from({ length: 2 }, () => new QuotaClient(t, service.grpc, 'api'));
  for (const proxy of proxies) await proxy.report(ANN);
  const { page, faults } = await browser.open(t, address(service, ''), STILL);
  await page.getByRole('link', { name: 'Quotas' }).click();
  const buckets = page.getByRole('table', { name: 'Buckets' });
  await buckets.getByText(/of 7\s200 left$/).waitFor();
  await firstLook(page);
  await lookAt(t, page, 'quotas-one');
  await firstLook(page);
  await buckets.getByRole('link', { name: 'user=ann,plan=free' }).click();
  await page.getByRole('heading', { name: 'api › user=ann,plan=free' }).waitFor();
  await page.getByText(/^80\s000 for proxies, window ends in/).waitFor();
  await page.getByText(/^7\s200 for proxies, counts all the time$/).waitFor();
  const granted = page.getByRole('table', { name: 'Proxies' }).getByRole('row');
  t.equal(await granted.count(), 3, 'a head and two proxies');
  t.match(await granted.nth(1).innerText(), /^127\.0\.0\.1\s.*\/s.*in \d+s/s);
  await lookAt(t, page, 'quota');
  await firstLook(page);

  await page.getByRole('button', { name: 'Ban…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
  await dialog.getByLabel('Reason').fill('attack');
  await dialog.getByRole('button', { name: 'Ban', exact: true }).click();
  await service.written(/Operator change.*attack/);
  const [answer] = await proxies[0].report(ANN);
  t.equal(answer.kind, 'deny_all', 'with the next report');
  await page.keyboard.press('Escape');
  await page.getByText('all requests denied').waitFor();
  await page.reload();
  await page.getByText('all requests denied').waitFor();
  t.same(faults, []);
});

t.test(
  'with very many buckets, those with the most demand are listed, and the others counted',
  options,
  async t => {
    const service = await started(t);
    const proxy = new QuotaClient(t, service.grpc, 'api');
    const users = Array.from({ length: 120 }, (_, i) => (i === 0 ? LONG : i === 1 ? EVIL : `user-${i}`));
    const buckets = users.map(
      (user): Reported => ({
        entries: [
          ['user', user],
          ['plan', 'free'],
        ],
        allowed: 1,
      }),
    );
    await proxy.report(...buckets);
    await proxy.report({ entries: [['closed', 'x']], denied: 1 });
    const { page, faults } = await browser.open(t, address(service, 'view=quotas'), STILL);
    await firstLook(page);
    await page.getByText(/^21 more buckets with less demand/).waitFor();
    await page.getByText(LONG).waitFor();
    t.equal(await page.getByRole('table', { name: 'Buckets' }).getByRole('row').count(), 101);
    await lookAt(t, page, 'quotas-many');
    await page.goto(address(service, `view=quotas&domain=none`));
    await page.getByText('No bucket in the domain none').waitFor();
    t.equal(await page.evaluate('window.broken'), undefined);
    t.same(faults, []);
  },
);
