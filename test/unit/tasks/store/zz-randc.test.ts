import t from 'tap';
import { randomExam } from '../../../exam/task-store/random.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { redisBackend, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
const server = await startCluster({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());
randomExam(t, redisBackend('redis', server.nodes), { sequences: Number(process.argv[2] ?? 10), seed: Number(process.argv[3] ?? 1) });
