import t from 'tap';
import { randomExam } from '../../../exam/task-store/random.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { redisBackend, TASK_SERVER_ARGS } from '../../../support/tasks/redis-backend.ts';
const server = await startRedis({ args: TASK_SERVER_ARGS });
t.teardown(() => server.stop());
randomExam(t, redisBackend('redis', [server]), { sequences: Number(process.argv[2] ?? 10), seed: Number(process.argv[3] ?? 1) });
