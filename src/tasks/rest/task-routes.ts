import { leaseRoutes } from './leases.ts';
import type { RestParts } from './parts.ts';
import type { Route } from './route.ts';
import { secretRoutes } from './secrets.ts';
import { taskActionsRoute } from './task-actions.ts';
import { createTasksRoute } from './task-batch.ts';
import { taskCommandRoutes } from './task-commands.ts';
import { createTaskRoute } from './task-create.ts';
import { deleteTaskRoute } from './task-delete.ts';
import { taskHistoryRoute } from './task-history.ts';
import { listTasksRoute } from './task-list.ts';
import { countTasksRoute, readTaskRoute } from './task-read.ts';
import { updateTaskRoutes } from './task-update.ts';
import { workerRoutes } from './workers.ts';

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
