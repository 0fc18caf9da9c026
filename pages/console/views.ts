import type { ComponentType } from 'preact';
import type { Scope } from './session.ts';
import { Audit } from './views/audit/audit.tsx';
import { SchedulePage } from './views/schedule/schedule-page.tsx';
import { Schedules } from './views/schedules/schedules.tsx';
import { TaskPage } from './views/task/task-page.tsx';
import { Tasks } from './views/tasks/tasks.tsx';
import { UsageView } from './views/usage/usage-view.tsx';
import { UserPage } from './views/user/user-page.tsx';
import { Users } from './views/users/users.tsx';
import { WorkerPage } from './views/worker/worker-page.tsx';
import { Workers } from './views/workers/workers.tsx';

/** A view of the console, by the parameter `view` of the address. */
interface View {
  /** In the navigation and in the title of the window. */
  readonly name: string;
  /** The entry of the navigation that leads here; its own if absent. */
  readonly under?: string;
  /** Without it, the view is not in the navigation and says what is missing. */
  readonly needs: Scope;
  readonly component: ComponentType;
}

/** The first one is shown without a parameter. */
export const VIEWS: Readonly<Record<string, View>> = {
  tasks: { name: 'Tasks', needs: 'tasks:read', component: Tasks },
  task: { name: 'Task', under: 'tasks', needs: 'tasks:read', component: TaskPage },
  workers: { name: 'Workers', needs: 'workers:read', component: Workers },
  worker: { name: 'Worker', under: 'workers', needs: 'workers:read', component: WorkerPage },
  schedules: { name: 'Schedules', needs: 'schedules:read', component: Schedules },
  schedule: { name: 'Schedule', under: 'schedules', needs: 'schedules:read', component: SchedulePage },
  users: { name: 'Users and tokens', needs: 'users:read', component: Users },
  user: { name: 'User', under: 'users', needs: 'users:read', component: UserPage },
  usage: { name: 'Usage', needs: 'tasks:read', component: UsageView },
  audit: { name: 'Audit', needs: 'users:read', component: Audit },
};
