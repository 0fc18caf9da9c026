import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { newTenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const EVIL = '<img src=x onerror="window.broken=1">';
const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 5}
  - key: path
    rate_limit: {unit: year, requests_per_unit: 1000}
  - key: tenant
    descriptors:
      - key: plan
        value: free
        rate_limit: {unit: year, requests_per_unit: 2}
---
`;
const EVIL_RULES = `
domain: '${EVIL}'
descriptors:
  - key: '${EVIL}'
    rate_limit: {unit: year, requests_per_unit: 1}
`;

const options = { skip: BROWSER_MISSING };
const browser = new TestBrowser(t);

type Entries = readonly (readonly [key: string, value: string])[];

async function ask(service: ServiceProcess, entries: Entries, times = 1, domain = 'shop'): Promise<number> {
  const descriptors = [{ entries: entries.map(([key, value]) => ({ key, value })) }];
  let status = 0;
  for (let i = 0; i < times; i++) ({ status } = await askOverHttp(service.http, { domain, descriptors }));
  return status;
}

async function started(t: Test, env: Readonly<Record<string, string>> = {}) {
  const root = writeRules(tempDirectory(t), {
    'config/shop.yaml': RULES.replace('---\n', ''),
    'config/evil.yaml': EVIL_RULES,
  });
  const service = await serviceFor(t, {
    env: { ADMIN_TOKEN, ...env, RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' },
  });
  return { service, root };
}

/** Fills in the token and a reason, and sends the dialog. */
async function confirm(page: Page, verb: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
  await dialog.getByLabel('Reason').fill('ticket 4711');
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await page.getByRole('dialog', { name: 'Done' }).waitFor();
}

t.test('who is rejected, by which limit, and a higher limit for one of them', options, async t => {
  const { service } = await started(t);
  await ask(service, [['user', 'ann']], 8);
  await ask(service, [['user', 'bob']], 2);
  const { page, faults } = await browser.open(t, `http://${service.debug}/`);
  await ask(service, [['user', 'ann']], 2);
  const rejections = page.getByRole('region', { name: 'Last rejections' });
  await rejections.getByText('user=ann').first().waitFor();
  t.match(await rejections.innerText(), /of 5/);
  await rejections.getByRole('link', { name: 'shop.user' }).first().click();
  await page.getByRole('heading', { name: 'shop › user' }).waitFor();
  await page.getByText('user=ann').first().waitFor();
  const definition = page.getByRole('region', { name: 'Definition' });
  t.match(await definition.innerText(), /config\/shop\.yaml:4[\s\S]*requests_per_unit: 5/);
  const keys = page.getByRole('region', { name: 'Hottest keys' });
  await keys.getByRole('row', { name: /user=ann 200.% 10 of 5, resets in \d+d/ }).waitFor();
  await keys.getByRole('button', { name: 'user=ann' }).click();
  const key = page.getByRole('dialog', { name: 'Key user=ann' });
  await key.getByText(/10 of 5/).waitFor();
  await key.getByRole('button', { name: 'Override…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Override a limit' });
  t.equal(await dialog.getByLabel('Entries').inputValue(), 'user=ann');
  await dialog.getByLabel('Requests per window').fill('50');
  await dialog.getByText('Changes the limit to 50 for requests with user=ann in shop').waitFor();
  await dialog.getByText('Do the same on the command line').click();
  t.match(
    await dialog.innerText(),
    /sluice override put --domain shop --descriptors user=ann --limit 50 --until 20/,
  );
  await confirm(page, 'Override');
  t.equal(await ask(service, [['user', 'ann']]), 200, 'the next request is allowed');
  t.equal(await ask(service, [['user', 'carl']], 6), 429, 'other keys keep their limit');
  await page.getByRole('button', { name: 'Undo now' }).click();
  await page.getByRole('dialog', { name: 'Undone' }).getByRole('button', { name: 'Close' }).last().click();
  t.equal(await ask(service, [['user', 'ann']]), 429);
  t.same(faults, []);
});

t.test('a key is banned, found under Changes, and the ban is undone', options, async t => {
  const { service } = await started(t);
  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=changes`);
  await page.getByText('Nothing is changed').waitFor();
  await page.getByRole('button', { name: 'Ban…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Ban' });
  await dialog.getByLabel('Domain').fill('shop');
  await dialog.getByLabel('Entries').fill('user=*bot*');
  await dialog.getByText('Rejects all requests with user=*bot* in shop, without counting them.').waitFor();
  await dialog.getByLabel("Operator's token").fill('not-the-token-of-this-service');
  await dialog.getByLabel('Reason').fill(EVIL);
  await dialog.getByRole('button', { name: 'Ban', exact: true }).click();
  await dialog.getByText('The token is not the ADMIN_TOKEN').waitFor();
  await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
  await dialog.getByRole('button', { name: 'Ban', exact: true }).click();
  await page.getByRole('dialog', { name: 'Done' }).getByRole('button', { name: 'Close' }).last().click();
  t.equal(await ask(service, [['user', 'a-bot-7']]), 429);
  const changes = page.getByRole('table', { name: 'Active changes' });
  await changes.getByText('user=*bot*').waitFor();
  t.match(await changes.innerText(), EVIL, 'a reason is text');
  await changes.getByRole('button', { name: /^Undo/ }).click();
  const undo = page.getByRole('dialog', { name: 'Undo the ban' });
  await undo.getByRole('button', { name: 'Undo', exact: true }).click();
  await page.getByRole('dialog', { name: 'Done' }).getByRole('button', { name: 'Close' }).last().click();
  await page.getByText('Nothing is changed').waitFor();
  t.equal(await ask(service, [['user', 'a-bot-7']]), 200);
  // The browser itself reports the answer to the wrong token.
  t.same(
    faults.filter(fault => !fault.includes('401')),
    [],
  );
  t.equal(await page.evaluate('window.broken'), undefined);
});

t.test('with tasks', options, async t => {
  const { service } = await started(t, tasksEnv(t));

  await t.test('a counter is reset', async t => {
    await ask(service, [['user', 'a, b']], 7);
    const { page, faults } = await browser.open(t, `http://${service.debug}/?view=limit&path=shop.user`);
    await page.getByRole('button', { name: 'user=a, b' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reset counters' });
    await dialog.getByText('Present counts: 7 of 5').waitFor();
    await confirm(page, 'Reset');
    await page.getByText('Before: 7 of 5').waitFor();
    t.equal(await ask(service, [['user', 'a, b']]), 200, 'also a value with a comma');
    t.same(faults, []);
  });

  await t.test('a tenant whose tasks wait is found, suspended and resumed', async t => {
    const { page, faults } = await browser.open(t, `http://${service.debug}/`);
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.getByText('There are no tenants').waitFor();
    const acme = await newTenant(service, 'acme');
    await newTenant(service, 'globex');
    await acme.make('workers', { name: 'crawler' });
    await acme.make('tasks', { worker: 'crawler' });
    const tenants = page.getByRole('table', { name: 'Tenants' });
    await tenants.getByRole('row', { name: /^acme active (?:now|\d+s ago) 1 1 0 .*0\/s 0 1 1/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('ACM');
    await page.getByText('1 to 1 of 1').waitFor();
    t.equal(await tenants.getByRole('row').count(), 2, 'the head and one tenant');
    await tenants.getByRole('link', { name: 'acme' }).click();
    await page.getByRole('heading', { name: 'acme active' }).waitFor();

    await page.getByRole('button', { name: 'Suspend…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Suspend acme' });
    await dialog.getByText('Open tasks wait (now 1)').waitFor();
    await dialog.getByText('Do the same on the command line').click();
    t.match(await dialog.innerText(), /sluice tenants suspend acme --reason/);
    await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
    await dialog.getByLabel('Reason').fill('  ');
    await dialog.getByRole('button', { name: 'Suspend', exact: true }).click();
    await dialog.getByText('Write why, for the log.').waitFor();
    await dialog.getByLabel('Reason').fill(EVIL);
    await dialog.getByRole('button', { name: 'Suspend', exact: true }).click();
    const done = page.getByRole('dialog', { name: 'Done' });
    t.match(await done.innerText(), /acme is suspended[\s\S]*sluice tenants resume acme/);
    t.equal((await acme.ask('POST /tasks', { worker: 'crawler' })).json.code, 'tenant_suspended');
    await done.getByRole('button', { name: 'Close' }).last().click();
    const account = page.getByRole('region', { name: 'Account' });
    await account.getByText(EVIL).waitFor();

    await page.getByRole('button', { name: 'Resume…' }).click();
    await confirm(page, 'Resume');
    await done.getByRole('button', { name: 'Close' }).last().click();
    t.equal((await acme.ask('POST /tasks', { worker: 'crawler' })).status, 201);
    t.equal(await page.evaluate('window.broken'), undefined);
    t.same(faults, []);
  });

  await t.test('an owner who has lost all tokens gets one, which is shown once', async t => {
    const { page, faults } = await browser.open(t, `http://${service.debug}/?view=tenant&domain=acme`);
    await page.getByRole('button', { name: "New owner's token…" }).click();
    const dialog = page.getByRole('dialog', { name: "New owner's token of acme" });
    await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
    await dialog.getByLabel('Reason').fill('ticket 4711');
    await dialog.getByRole('button', { name: 'Create this token' }).click();
    const shown = page.getByRole('dialog', { name: 'Copy the token now' });
    const token = await shown.locator('pre').innerText();
    t.match(token, /^tk_acme_/);
    await shown.getByRole('button', { name: 'I have copied it' }).click();
    t.notMatch(await page.content(), token);
    const headers = { Authorization: `Bearer ${token}` };
    t.equal((await fetch(`http://${service.http}/api/v1/me`, { headers })).status, 200);
    t.same(faults, []);
  });

  await t.test('a limit of a tenant is changed, with what is wrong beside it', async t => {
    const { page, faults } = await browser.open(t, `http://${service.debug}/?view=tenant&domain=acme`);
    await page.getByRole('button', { name: 'Change retain_other' }).click();
    const dialog = page.getByRole('dialog', { name: 'Limit retain_other of acme' });
    await dialog.getByLabel('Limit', { exact: true }).fill('2y');
    await dialog.getByLabel("Operator's token").fill(ADMIN_TOKEN);
    await dialog.getByLabel('Reason').fill('ticket 4711');
    await dialog.getByRole('button', { name: 'Change this limit' }).click();
    await dialog.getByText('from 1h to 366d').waitFor();
    await dialog.getByLabel('Limit', { exact: true }).fill('2d');
    await confirm(page, 'Change this limit');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('row', { name: /retain_other Changed – 2d/ }).waitFor();
    await page.getByRole('button', { name: 'Change open_tasks' }).click();
    await page.getByLabel('Limit', { exact: true }).fill('1e999');
    await page.getByLabel('Reason').fill('ticket 4711');
    await page.getByRole('button', { name: 'Change this limit' }).click();
    await page.getByText('must be a').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.setViewportSize({ width: 360, height: 800 });
    const cut = `[...document.querySelectorAll('table[aria-label="Limits of the tenant"] tbody tr > :first-child')]
      .filter(name => name.scrollWidth > name.clientWidth).map(name => name.innerText)`;
    t.same(await page.evaluate(cut), [], 'the names of limits fit on a phone');
    // The browser itself reports the answer to the wrong limit.
    t.same(
      faults.filter(fault => !fault.includes('422')),
      [],
    );
  });
});

t.test('what would happen to a request, and a link that asks the same', options, async t => {
  const { service } = await started(t);
  await ask(service, [['user', 'ann']], 9);
  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=explain`);
  await page.getByLabel('Domain').fill('shop');
  await page.getByLabel('Key 1 of descriptor 1').fill('tenant');
  await page.getByLabel('Value 1 of descriptor 1').fill('acme');
  await page.getByRole('button', { name: 'Add entry' }).click();
  await page.getByLabel('Key 2 of descriptor 1').fill('plan');
  await page.getByLabel('Value 2 of descriptor 1').fill('free');
  await page.getByRole('button', { name: 'Add descriptor' }).click();
  await page.getByLabel('Key 1 of descriptor 2').fill('user');
  await page.getByLabel('Value 1 of descriptor 2').fill('ann');
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByText('The request would be rejected now.').waitFor();
  const shown = await page.locator('.explain-answer').innerText();
  t.match(shown, /tenant=acme[\s\S]*plan_free[\s\S]*0, 1 with this request[\s\S]*user=ann[\s\S]*Over limit/);
  await page.reload();
  await page.getByText('The request would be rejected now.').waitFor();
  t.equal(await page.getByLabel('Value 2 of descriptor 1').inputValue(), 'free');
  t.same(faults, []);
});

t.test('what the last load changed, and the faults of rules that are not loaded', options, async t => {
  const { service, root } = await started(t);
  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=loads`);
  await page.getByText('Active rules').waitFor();
  const changed = RULES.replace('---\n', '').replace('requests_per_unit: 5', 'requests_per_unit: 6');
  writeRules(root, { 'config/shop.yaml': changed });
  await page.getByText(/at most 5 in each .* → at most 6 in each/).waitFor();
  writeRules(root, { 'config/shop.yaml': 'domain: shop\ndescriptors: 5\n' });
  await page.getByRole('region', { name: 'Rules that were not loaded' }).waitFor();
  t.match(
    await page.getByRole('region', { name: 'Rules that were not loaded' }).innerText(),
    /shop\.yaml:2:/,
  );
  await page.getByText('1 fault in the last load').waitFor();
  const active = page.getByRole('region', { name: 'Active rules' });
  const digest = await active.getByTitle('Digest of the rules').innerText();
  t.match(digest, /^[0-9a-f]{8}$/);
  await page.goto(`http://${service.debug}/`);
  const instances = page.getByRole('table', { name: 'Instances' });
  await instances.getByRole('row', { name: new RegExp(`this one .*${digest} .*newer refused`) }).waitFor();
  t.same(faults, []);
});

t.test('candidate rules are rehearsed and promoted', options, async t => {
  const candidate = tempDirectory(t);
  writeFileSync(join(candidate, 'shop.yaml'), RULES.replace('---\n', '').replace('unit: 5', 'unit: 3'));
  const { service } = await started(t, { RUNTIME_CANDIDATE: candidate });
  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=rehearsal`);
  await page.getByText('No hits yet').waitFor();
  await ask(service, [['user', 'ann']], 5);
  const limits = page.getByRole('table', { name: 'Limits of the candidate rules' });
  await limits.getByRole('row', { name: /shop\.user .* 40.%\s?2 0.%\s?0 2 0/ }).waitFor();
  await page.getByRole('table', { name: 'Keys of the last changes' }).getByText('user=ann').waitFor();
  await page.getByRole('button', { name: 'Promote…' }).click();
  await page.getByText(/they rejected 2 more and 0 fewer of 5 hits/).waitFor();
  await confirm(page, 'Promote');
  t.equal(await ask(service, [['user', 'bob']], 4), 429);
  t.same(faults, []);
});

t.test('changes without a token say how to configure one', options, async t => {
  const { service } = await started(t, { ADMIN_TOKEN: '' });
  const { page } = await browser.open(t, `http://${service.debug}/?view=limit&path=shop.user`);
  await page.getByText('Healthy').waitFor();
  await page.getByRole('button', { name: 'Ban…' }).click();
  t.match(await page.getByRole('dialog').innerText(), /Changes are disabled[\s\S]*ADMIN_TOKEN_FILE/);
  t.equal(await page.getByRole('link', { name: 'Tenants' }).count(), 0, 'without tasks');
  await page.goto(`http://${service.debug}/?view=tenants`);
  await page.getByText('This process does not serve tasks').waitFor();
});

t.test('names and keys are text, whatever they contain', options, async t => {
  const { service } = await started(t);
  await ask(service, [[EVIL, EVIL]], 3, EVIL);
  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=limits&q=img`);
  await page.getByRole('link', { name: EVIL }).first().click();
  await page.getByText(`${EVIL}=${EVIL}`).first().waitFor();
  await page.getByRole('button', { name: EVIL }).first().click();
  await page
    .getByRole('dialog')
    .getByText(/3 of 1/)
    .waitFor();
  await page.getByRole('link', { name: 'Explain', exact: true }).last().click();
  await page.getByText('The request would be rejected now.').waitFor();
  t.equal(await page.evaluate('window.broken'), undefined);
  t.same(faults, []);
});

t.test('a limit is found by keyboard', options, async t => {
  const { service } = await started(t);
  const { page, faults } = await browser.open(t, `http://${service.debug}/`);
  await page.getByText('Top limits').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('plan');
  await page.waitForURL(/view=limits.*q=plan/);
  const rows = page.getByRole('table', { name: 'Limits' }).locator('tbody tr');
  await rows.filter({ hasText: 'tenant.plan_free' }).waitFor();
  await page.waitForFunction('document.querySelectorAll("tbody tr").length === 1');
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'shop › tenant.plan_free' }).waitFor();
  t.same(faults, []);
});

t.test('among 100 000 limits, a search finds one while the user types', options, async t => {
  const entries = Array.from(
    { length: 100_000 },
    (_, i) => `  - {key: k${i}, rate_limit: {unit: hour, requests_per_unit: ${i}}}\n`,
  );
  const service = await serviceFor(t, {
    rules: {
      'config/large.yaml': `domain: large
descriptors:
${entries.join('')}`,
    },
  });
  const { page, faults } = await browser.open(t, `http://${service.debug}/?view=limits`);
  await page.getByText(/1 to 50 of 100.000/).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('k99998');
  await page.getByRole('link', { name: 'k99998', exact: true }).waitFor();
  await page.getByText('1 to 1 of 1').waitFor();
  await page.getByRole('link', { name: 'k99998', exact: true }).click();
  await page.getByText('at most 99998 in each hour').waitFor();
  await page
    .getByRole('region', { name: 'Definition' })
    .getByText(/large\.yaml:100001/)
    .waitFor();
  t.same(faults, []);
});
