import t from 'tap';
import { loadSettings } from '../../../src/settings/load.ts';
import {
  defaultServeThreads,
  defaultWorkerThreads,
  servingThreads,
} from '../../../src/settings/thread-counts.ts';

t.test('by default, half of the cores serve, one on small machines and at most eight', async t => {
  t.same([1, 2, 3, 4, 6, 8, 16, 64].map(defaultServeThreads), [1, 1, 2, 2, 3, 4, 8, 8]);
});

t.test('decision threads are started only where the primary thread serves alone', async t => {
  const alone = { serveThreads: 1, grpcSocketPath: '', grpcServerEngine: 'sluice' } as const;
  t.same(
    [1, 2, 3, 10, 64].map(cores => defaultWorkerThreads(alone, cores)),
    [0, 0, 1, 8, 8],
  );
  t.equal(defaultWorkerThreads({ ...alone, serveThreads: 4 }, 8), 0);
  t.equal(defaultWorkerThreads({ ...alone, serveThreads: 4, grpcSocketPath: '/run/s' }, 8), 6);
});

t.test('SERVE_THREADS accepts auto, which is the default', async t => {
  t.equal(loadSettings({ SERVE_THREADS: 'auto' }).serveThreads, defaultServeThreads());
  t.equal(loadSettings({ SERVE_THREADS: '3' }).serveThreads, 3);
  t.throws(() => loadSettings({ SERVE_THREADS: 'many' }), /SERVE_THREADS/);
});

t.test('the primary thread serves alone where several threads cannot listen, and says why', async t => {
  const four = { serveThreads: 4, grpcSocketPath: '', grpcServerEngine: 'sluice' } as const;
  t.same(servingThreads(four, 'linux'), { threads: 4, reason: null });
  t.match(servingThreads({ ...four, grpcSocketPath: '/run/s' }, 'linux'), { threads: 1, reason: /GRPC_UDS/ });
  t.match(servingThreads({ ...four, grpcServerEngine: 'grpcJs' }, 'linux'), {
    threads: 1,
    reason: /grpc-js/,
  });
  t.match(servingThreads(four, 'darwin'), { threads: 1, reason: /darwin/ });
  t.same(servingThreads({ ...four, serveThreads: 1, grpcSocketPath: '/run/s' }, 'linux'), {
    threads: 1,
    reason: null,
  });
});
