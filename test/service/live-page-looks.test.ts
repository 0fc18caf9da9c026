import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { getPage } from '../support/asking.ts';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { axeFaults, keepAsking, overflowing, servicePage } from '../support/live-page.ts';
import { repositoryRoot } from '../support/repository.ts';
import type { ServiceProcess } from '../support/service.ts';
import { until } from '../support/until.ts';

const SCREENSHOTS = join(repositoryRoot(), 'build/screenshots');
const WIDTHS = [360, 800, 1280];
const browser = new TestBrowser(t);
const SCHEMES = ['light', 'dark'] as const;

t.test(
  'the overview is accessible and fits, at three widths and in both schemes',
  { skip: BROWSER_MISSING },
  async t => {
    const service = await servicePage(t);
    keepAsking(t, service);
    mkdirSync(SCREENSHOTS, { recursive: true });
    await untilFiguresAre(service);
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        const name = `overview-${width}-${colorScheme}`;
        const { page, faults } = await browser.open(t, `http://${service.debug}/`, {
          colorScheme,
          viewport: { width, height: 800 },
          reducedMotion: 'reduce',
        });
        await page.getByRole('table', { name: 'Top limits' }).waitFor();
        await page.getByText('user=ann').first().waitFor();
        await page.getByRole('figure').first().locator('canvas').waitFor();
        t.same(await axeFaults(page), [], name);
        t.same(await overflowing(page), [], name);
        await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
        await page.keyboard.press('?');
        await page.getByRole('dialog').waitFor();
        t.same(await axeFaults(page), [], `${name}, with a dialog`);
        t.same(faults, [], name);
      }
    }
  },
);

/** Waits until the service has the first point of the last hour, so that plots show something. */
async function untilFiguresAre(service: ServiceProcess): Promise<void> {
  await until(async () => {
    const { text } = await getPage(service.debug, '/api/v1/rates');
    return JSON.parse(text).points.length > 1;
  });
}
