import type { RestParts } from './http/parts.ts';
import type { Route } from './http/route.ts';
import { leaseRoutes } from './leases/leases.ts';
import { taskActionsRoute } from './tasks/task-actions.ts';
import { createTasksRoute } from './tasks/task-batch.ts';
import { taskCommandRoutes } from './tasks/task-commands.ts';
import { createTaskRoute } from './tasks/task-create.ts';
import { deleteTaskRoute } from './tasks/task-delete.ts';
import { taskHistoryRoute } from './tasks/task-history.ts';
import { listTasksRoute } from './tasks/task-list.ts';
import { countTasksRoute, readTaskRoute } from './tasks/task-read.ts';
import { updateTaskRoutes } from './tasks/task-update.ts';
import { secretRoutes } from './workers/secrets.ts';
import { workerRoutes } from './workers/workers.ts';

/** Everything about tasks, workers, secrets and leases. */
export function taskRoutes(parts: RestParts): readonly Route[] {
  return [
    createTaskRoute(parts),
    listTasksRoute(parts),
    countTasksRoute(parts),
    createTasksRoute(parts),
    taskActionsRoute(parts),
    readTaskRoute(parts),
    ...updateTaskRoutes(parts),
    deleteTaskRoute(parts),
    taskHistoryRoute(parts),
    ...taskCommandRoutes(parts),
    ...workerRoutes(parts),
    ...secretRoutes(parts),
    ...leaseRoutes(parts),
  ];
}
