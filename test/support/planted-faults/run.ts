import { ALL_PLANTED } from './all-planted.ts';
import { findPlanted } from './check.ts';

// Plants each fault, one after the other, and says how many histories the simulator needed to find it.
const [most = '300', first = '1', only] = process.argv.slice(2);
let missed = 0;
const say = (line: string) => process.stdout.write(`${line}\n`);
for (const number of ALL_PLANTED.keys()) {
  if (only !== undefined && Number(only) !== number) continue;
  const { name, histories, seconds, report } = await findPlanted(number, Number(most), Number(first));
  if (histories === null) missed++;
  const promise = /broken: (.*) \(/.exec(report)?.[1];
  say(
    histories === null
      ? `${number} not found in ${most} histories: ${name}\n${report.slice(-600)}`
      : `${number} found in ${histories} histories, ${seconds} s: ${name} → ${promise}`,
  );
  if (only !== undefined) say(report);
}
process.exitCode = missed === 0 ? 0 : 1;
