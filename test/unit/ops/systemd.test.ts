import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SETTINGS } from '../../../src/settings/table.ts';
import { type Teardown, tempDirectory } from '../../support/temp-directory.ts';
import { missing, outputOf } from '../../support/tools.ts';
import { opsText } from './ops-files.ts';

const UNITS = ['sluice.service', 'sluice@.service'];
const skip = missing('systemd-analyze', 'systemd');

/** The units as `systemd-analyze` finds them installed: what they start must exist, so it is a program that does. */
function installed(t: Teardown): string {
  const directory = tempDirectory(t);
  for (const unit of UNITS) {
    const text = opsText(`systemd/${unit}`).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
    writeFileSync(join(directory, unit), text);
  }
  return directory;
}

t.test('systemd finds no fault in the units', { skip }, async t => {
  const directory = installed(t);
  const files = ['sluice.service', 'sluice@1.service'].map(unit => join(directory, unit));
  const output = await outputOf('systemd-analyze', ['verify', '--man=no', ...files]);
  t.notMatch(output, /sluice(@1)?\.service/, 'nothing is said of them');
});

t.test('systemd would find one', { skip }, async t => {
  const directory = tempDirectory(t);
  const file = join(directory, 'sluice.service');
  writeFileSync(
    file,
    opsText('systemd/sluice.service').replace('ProtectSystem=strict', 'ProtectSystem=very'),
  );
  t.match(await outputOf('systemd-analyze', ['verify', '--man=no', file]), /sluice\.service/);
});

t.test('systemd waits longer for the end than the service takes', async t => {
  for (const unit of UNITS) {
    const stopS = Number(opsText(`systemd/${unit}`).match(/^TimeoutStopSec=(\d+)$/m)?.[1]);
    const { shutdownTimeoutMs, tasksDrainTimeoutMs } = SETTINGS;
    t.ok(stopS * 1_000 > shutdownTimeoutMs.default + tasksDrainTimeoutMs.default, unit);
  }
});
