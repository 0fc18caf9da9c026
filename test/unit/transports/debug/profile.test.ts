import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import t from 'tap';
import { onEachEngine } from '../http/on-each-engine.ts';
import { plain, RawConnection } from '../http/raw-connection.ts';
import { burnCpuForTheProfile, profilingSite, takeMemoryForTheProfile } from './debugging.ts';

function functionNames(profile: Profile): string[] {
  return profile.function.map(entry => profile.stringTable.strings[Number(entry.name)]);
}

t.test('the CPU profile shows in pprof what the primary thread did meanwhile', async t => {
  const here = await profilingSite(t);
  const response = await here.profiled('/debug/pprof/profile?seconds=7', burnCpuForTheProfile);
  t.equal(response.status, 200);
  t.equal(response.headers.get('content-type'), 'application/octet-stream');
  t.equal(response.headers.get('content-disposition'), 'attachment; filename="profile.pb.gz"');
  const bytes = new Uint8Array(await response.arrayBuffer());
  const profile = Profile.decode(gunzipSync(bytes));
  t.ok(functionNames(profile).includes('burnCpuForTheProfile'));
  t.equal(Number(profile.durationNanos), 7e9);
  t.equal(BigInt(profile.timeNanos), 1_700_000_000_000_000_000n);
});

t.test('the heap profile shows in pprof what was taken meanwhile and is still held', async t => {
  const here = await profilingSite(t);
  const response = await here.profiled('/debug/pprof/heap', takeMemoryForTheProfile);
  t.equal(response.status, 200);
  t.equal(response.headers.get('content-disposition'), 'attachment; filename="heap.pb.gz"');
  const bytes = new Uint8Array(await response.arrayBuffer());
  const profile = Profile.decode(gunzipSync(bytes));
  t.ok(functionNames(profile).includes('takeMemoryForTheProfile'));
  t.equal(Number(profile.durationNanos), 5e9);
});

t.test('both profiles are also given as V8 writes them', async t => {
  const here = await profilingSite(t);
  const cpu = await here.profiled('/debug/pprof/profile?format=cpuprofile', burnCpuForTheProfile);
  t.equal(cpu.headers.get('content-type'), 'application/json');
  t.equal(cpu.headers.get('content-disposition'), 'attachment; filename="profile.cpuprofile"');
  const cpuProfile = (await cpu.json()) as { nodes: { callFrame: { functionName: string } }[] };
  t.ok(cpuProfile.nodes.some(node => node.callFrame.functionName === 'burnCpuForTheProfile'));

  const heap = await here.profiled('/debug/pprof/heap?seconds=1&format=heapprofile', takeMemoryForTheProfile);
  t.equal(heap.headers.get('content-disposition'), 'attachment; filename="heap.heapprofile"');
  t.match(await heap.text(), /"functionName":"takeMemoryForTheProfile"/);
});

t.test('the seconds are 30 for the CPU and 5 for the heap unless the caller says otherwise', async t => {
  const { clock, get } = await profilingSite(t);
  for (const [path, seconds] of [
    ['profile', 30],
    ['heap', 5],
    ['profile?seconds=1', 1],
    ['heap?seconds=300', 300],
  ] as const) {
    const started = clock.started();
    const response = get(`/debug/pprof/${path}`);
    await started;
    t.same(clock.pendingDelaysMs, [seconds * 1000], path);
    clock.advance(seconds * 1000);
    t.equal((await response).status, 200);
    await (await response).arrayBuffer();
  }
});

t.test('a query that is not understood is a 400 that says what is accepted', async t => {
  const { clock, get } = await profilingSite(t);
  for (const seconds of ['0', '301', '-1', '1.5', '1e2', '0x10', 'ten', '', '%20', '1000000000000']) {
    const response = await get(`/debug/pprof/profile?seconds=${seconds}`);
    t.equal(response.status, 400, seconds);
    const message = 'seconds must be a whole number from 1 to 300';
    t.same(await response.json(), { error: { code: 'bad_request', message } });
  }
  const response = await get('/debug/pprof/heap?format=svg');
  t.equal(response.status, 400);
  t.match(await response.json(), { error: { message: 'format must be pprof (the default) or heapprofile' } });
  t.same(clock.pendingDelaysMs, []);
});

t.test('a second profile of a kind has to wait, one of the other kind does not', async t => {
  const { clock, get } = await profilingSite(t);
  const firstStarted = clock.started();
  const first = get('/debug/pprof/profile?seconds=10');
  await firstStarted;
  const second = await get('/debug/pprof/profile?seconds=1');
  t.equal(second.status, 409);
  t.match(await second.json(), { error: { code: 'conflict', message: /a profile profile|being taken/ } });
  const heapStarted = clock.started();
  const heap = get('/debug/pprof/heap?seconds=10');
  await heapStarted;
  clock.advance(10_000);
  t.equal((await first).status, 200);
  t.equal((await heap).status, 200);
  const againStarted = clock.started();
  const again = get('/debug/pprof/profile?seconds=1');
  await againStarted;
  clock.advance(1000);
  t.equal((await again).status, 200);
});

onEachEngine('a profile whose caller goes away ends, and the next caller gets one', async t => {
  const here = await profilingSite(t);
  for (const kind of ['profile', 'heap']) {
    const connection = await RawConnection.open(here.server.port);
    const started = here.clock.started();
    await connection.write(plain('GET', `/debug/pprof/${kind}?seconds=300`));
    await started;
    const cancelled = here.clock.cancelled();
    connection.destroy();
    await cancelled;
    t.same(here.clock.pendingDelaysMs, []);
    const next = await here.profiled(`/debug/pprof/${kind}?seconds=1`, () => {});
    t.equal(next.status, 200, kind);
    await next.arrayBuffer();
  }
});

t.test('stop ends a running profile, and its caller gets an error', async t => {
  const { server, clock, get } = await profilingSite(t);
  const started = clock.started();
  const response = get('/debug/pprof/profile?seconds=300');
  await started;
  await server.stop();
  t.same(clock.pendingDelaysMs, []);
  t.equal((await response).status, 503);
  t.same(await (await response).json(), {
    error: { code: 'stopping', message: 'the service is shutting down and no longer takes profiles' },
  });
});
