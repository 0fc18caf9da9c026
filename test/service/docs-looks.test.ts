import t from 'tap';
import { BROWSER_MISSING, TestBrowser } from '../support/browser.ts';
import { consoleAddress } from '../support/console.ts';
import { firstLook, lookAt } from '../support/page-looks.ts';
import { startTasksService } from '../support/tasks/tasks-service.ts';

const browser = new TestBrowser(t);
const service = await startTasksService(t);

t.test(
  'the documentation is accessible and fits, at three widths and in both schemes',
  { skip: BROWSER_MISSING },
  async t => {
    const { page, faults } = await browser.open(t, consoleAddress(service, 'anybody', 'api/docs'), {
      reducedMotion: 'reduce',
    });
    for (const [name, path, heading] of [
      ['start', '', 'What can a program do here?'],
      ['operation', '/operations/createTask', 'Create a task'],
      ['receiver', '/receivers/deliverTask', 'A task is pushed to its worker'],
    ]) {
      await firstLook(page);
      await page.goto(consoleAddress(service, 'anybody', `api/docs${path}`));
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      await lookAt(t, page, `docs-${name}`);
    }
    t.same(faults, []);
  },
);
