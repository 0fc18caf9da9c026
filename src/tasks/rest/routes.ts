import { auditRoutes } from './access/audit.ts';
import { meRoute } from './access/me.ts';
import { limitRoutes } from './access/tenant-limits.ts';
import { tokenRoutes } from './accounts/tokens.ts';
import { userRoutes } from './accounts/users.ts';
import type { RestParts } from './http/parts.ts';
import type { Route } from './http/route.ts';
import { leaseRoutes } from './leases/leases.ts';
import { scheduleRoutes } from './schedules/schedules.ts';
import { taskActionsRoute } from './tasks/task-actions.ts';
import { createTasksRoute } from './tasks/task-batch.ts';
import { deleteTaskRoute, taskCommandRoutes } from './tasks/task-commands.ts';
import { createTaskRoute } from './tasks/task-create.ts';
import { taskHistoryRoute } from './tasks/task-history.ts';
import { countTasksRoute, listTasksRoute, readTaskRoute } from './tasks/task-read.ts';
import { updateTaskRoutes } from './tasks/task-update.ts';
import { usageRoutes } from './usage/usage.ts';
import { secretRoutes } from './workers/secrets.ts';
import { workerRoutes } from './workers/workers.ts';

/** The routes of tasks, workers, secrets and leases. */
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

/** All routes of a tenant. */
export function tenantRoutes(parts: RestParts): readonly Route[] {
  return [
    ...taskRoutes(parts),
    ...scheduleRoutes(parts),
    ...userRoutes(parts),
    ...tokenRoutes(parts),
    meRoute(parts),
    ...limitRoutes(parts),
    ...usageRoutes(parts),
    ...auditRoutes(parts),
  ];
}
