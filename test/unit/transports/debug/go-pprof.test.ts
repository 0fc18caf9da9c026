import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { burnCpuForTheProfile, profilingSite, takeMemoryForTheProfile } from './debugging.ts';

const run = promisify(execFile);

/** Go as it is on this machine: it must not fetch anything. */
const OFFLINE = { GOTOOLCHAIN: 'local', GOPROXY: 'off', GOFLAGS: '' };

/** Recent versions of Go build pprof from their own source when it is first used, which takes a while. */
async function pprofIsAtHand(): Promise<boolean> {
  try {
    await run('go', ['tool', '-n', 'pprof'], { timeout: 80_000, env: { ...process.env, ...OFFLINE } });
    return true;
  } catch {
    return false;
  }
}

/** The output of `go tool pprof -top` for a profile. */
async function top(t: Test, profile: Response): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-pprof-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = join(directory, 'profile.pb.gz');
  await writeFile(file, new Uint8Array(await profile.arrayBuffer()));
  const env = { ...process.env, ...OFFLINE, PPROF_TMPDIR: directory };
  return (await run('go', ['tool', 'pprof', '-top', file], { env })).stdout;
}

t.test('pprof opens the profiles', { timeout: 110_000 }, async t => {
  if (!(await pprofIsAtHand())) return t.comment('no Go with pprof on the PATH: not tried');
  const site = await profilingSite(t);

  const cpu = await top(t, await site.profiled('/debug/pprof/profile?seconds=7', burnCpuForTheProfile));
  t.match(cpu, /Type: cpu/);
  t.match(cpu, /Duration: 7s/);
  t.match(cpu, /[1-9][\d.]*m?s .* burnCpuForTheProfile/);

  const heap = await top(t, await site.profiled('/debug/pprof/heap', takeMemoryForTheProfile));
  t.match(heap, /Type: inuse_space/);
  t.match(heap, /[1-9][\d.]*[kM]B .* takeMemoryForTheProfile/);
});
