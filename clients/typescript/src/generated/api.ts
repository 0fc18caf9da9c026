// Generated from the OpenAPI document of the task service. Do not edit: run `npm run client-types`.
// Document: sha256 5762f7211a87ae886abac93f7ca47e142999623b065a969670111ca8094779da
// Types:    sha256 9b81d0d6ef78c24508dd91bc2122b12b82caae810d2304fd97137fc16516cee2

export interface paths {
    "/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List accounts by domain
         * @description Only for the operator of the service.
         */
        get: operations["listAccounts"];
        put?: never;
        /** Create an account: a tenant with its own subdomain, and its first owner */
        post: operations["createAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/accounts/{domain}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an account: its status, limits and use
         * @description Only for the operator of the service.
         */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        /**
         * Delete an account and everything in it; the deletion continues after the response
         * @description Only for the operator of the service.
         */
        delete: operations["deleteAccount"];
        options?: never;
        head?: never;
        /**
         * Suspend or resume an account, or change its limits
         * @description Only for the operator of the service.
         */
        patch: operations["patchAccount"];
        trace?: never;
    };
    "/accounts/{domain}/owner-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a token for the first active owner of an account, if the owners have lost theirs
         * @description Only for the operator of the service.
         */
        post: operations["createOwnerToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the audit log: changes of users, tokens, workers, secrets, schedules and the account, newest first
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `users:read`.
         */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/leases/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report the outcomes of many attempts
         * @description Requires the role member or a higher one. A token with scopes needs the scope `leases`. Pull workers can use their own token.
         */
        post: operations["settleLeases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/leases/{lease_id}/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete a task
         * @description Requires the role member or a higher one. A token with scopes needs the scope `leases`. Pull workers can use their own token.
         */
        post: operations["completeLease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/leases/{lease_id}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a failed attempt
         * @description Requires the role member or a higher one. A token with scopes needs the scope `leases`. Pull workers can use their own token.
         */
        post: operations["failLease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/leases/{lease_id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extend a lease
         * @description Requires the role member or a higher one. A token with scopes needs the scope `leases`. Pull workers can use their own token.
         */
        post: operations["heartbeatLease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/leases/{lease_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return a task without counting the attempt
         * @description Requires the role member or a higher one. A token with scopes needs the scope `leases`. Pull workers can use their own token.
         */
        post: operations["releaseLease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the limits of the account and their current use
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `tasks:read`.
         */
        get: operations["getLimits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the user, the role and the scopes of the caller
         * @description Requires the role viewer or a higher one.
         */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules, newest first
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `schedules:read`.
         */
        get: operations["listSchedules"];
        put?: never;
        /**
         * Create a schedule
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `schedules:write`.
         */
        post: operations["createSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show when a schedule would fire, without creating it
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `schedules:read`.
         */
        post: operations["previewSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a schedule, by id or name
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `schedules:read`.
         */
        get: operations["readSchedule"];
        /**
         * Change a schedule; fields that are left out stay unchanged, null restores the default
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `schedules:write`.
         */
        put: operations["updateSchedule"];
        post?: never;
        /**
         * Delete a schedule; its tasks are kept
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `schedules:write`.
         */
        delete: operations["deleteSchedule"];
        options?: never;
        head?: never;
        /**
         * Change a schedule, as PUT does
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `schedules:write`.
         */
        patch: operations["patchSchedule"];
        trace?: never;
    };
    "/v1/schedules/{id}/trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a task of a schedule now, regardless of its overlap and even while it is paused
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["triggerSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tasks by creation time or due time
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `tasks:read`.
         */
        get: operations["listTasks"];
        put?: never;
        /**
         * Create a task
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["createTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry, cancel, pause, resume, run or delete many tasks
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["actOnTasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create many tasks
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["createTasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count tasks by status
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `tasks:read`.
         */
        get: operations["countTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a task
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `tasks:read`.
         */
        get: operations["readTask"];
        /**
         * Change a task
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        put: operations["updateTask"];
        post?: never;
        /**
         * Delete a task and its history
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        delete: operations["deleteTask"];
        options?: never;
        head?: never;
        /**
         * Change a task, as PUT does
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        patch: operations["patchTask"];
        trace?: never;
    };
    "/v1/tasks/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a task; a running task is asked to stop
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["cancelTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the history of a task
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `tasks:read`.
         */
        get: operations["readTaskHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a waiting task
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["pauseTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a paused task
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["resumeTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay a finished task from its first attempt
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["retryTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a waiting task due now
         * @description Requires the role member or a higher one. A token with scopes needs the scope `tasks:write`.
         */
        post: operations["runTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the usage over time, and the limits of the account with how much of them is used
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `tasks:read`.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List users, newest first
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `users:read`.
         */
        get: operations["listUsers"];
        put?: never;
        /**
         * Create a user
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `users:write`.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a user; only admins and owners can read other users
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `users:read`.
         */
        get: operations["getUser"];
        /**
         * Change a user
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `users:write`.
         */
        put: operations["updateUser"];
        post?: never;
        /**
         * Delete a user and their tokens
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `users:write`.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        /**
         * Change a user
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `users:write`.
         */
        patch: operations["patchUser"];
        trace?: never;
    };
    "/v1/users/{id}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tokens of a user; only admins and owners can list those of other users
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `users:read`.
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Create a token of a user; only admins and owners can create tokens of other users, and only owners those of owners
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `users:write`.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a token; requests with it are rejected after at most one second
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `users:write`.
         */
        delete: operations["deleteToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workers, newest first
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `workers:read`.
         */
        get: operations["listWorkers"];
        put?: never;
        /**
         * Create a worker
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        post: operations["createWorker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a worker, by id or name
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `workers:read`.
         */
        get: operations["readWorker"];
        /**
         * Change a worker; fields that are left out stay unchanged, null restores the default
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        put: operations["updateWorker"];
        post?: never;
        /**
         * Delete a worker and its secrets
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        delete: operations["deleteWorker"];
        options?: never;
        head?: never;
        /**
         * Change a worker, as PUT does
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        patch: operations["patchWorker"];
        trace?: never;
    };
    "/v1/workers/{id}/leases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lease tasks to work on
         * @description Requires the role member or a higher one. A token with scopes needs the scope `leases`. Pull workers can use their own token.
         */
        post: operations["leaseTasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers/{id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the secrets of a worker, without their values
         * @description Requires the role viewer or a higher one. A token with scopes needs the scope `workers:read`.
         */
        get: operations["listSecrets"];
        put?: never;
        /**
         * Create a secret of a worker
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        post: operations["createSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers/{id}/secrets/{sid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a secret; it is no longer used or accepted
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        delete: operations["deleteSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workers/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send one signed test request to a push worker, even if it is paused, and show the request and the response
         * @description Requires the role admin or a higher one. A token with scopes needs the scope `workers:write`.
         */
        post: operations["testWorker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    taskDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A task is pushed to its worker
         * @description The service sends each task of a push worker to the `url` of the worker, or to that of the task, with the `method` of the worker: `POST` unless it is set to `PUT` or `PATCH`. The `headers` and header secrets of the worker and the `headers` of the task are sent as well. Each task is delivered at least once, so it can arrive again after it was handled.
         */
        post: operations["deliverTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    taskFinished: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A callback reports that a task has ended
         * @description A worker with `on_finish` has a task created for another worker when one of its tasks ends. This callback is delivered like any other task. Its `task-type` is `task.` and the status of the ended task.
         */
        post: operations["deliverCallback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        Account: {
            id: string;
            domain: string;
            /** Format: uri */
            api_url: string;
            /** @enum {string} */
            status: "active" | "suspended" | "deleting";
            /** Format: date-time */
            created_at: string;
            owner: {
                id: string;
            };
            /** @description Null if the response is replayed for an `Idempotency-Key`, because the token is not stored. */
            token: string | null;
            /** Format: date-time */
            token_expires_at: string;
        };
        AccountChange: {
            /**
             * @description A suspended account is read-only, and its tasks do not start.
             * @enum {string}
             */
            status?: "active" | "suspended";
            /** @description Limits that are left out stay unchanged; null restores the default. */
            limits?: {
                open_tasks?: number | null;
                /** @description From 1h to 366d. */
                retain_succeeded?: string | null;
                /** @description From 1h to 366d. */
                retain_other?: string | null;
                payload_bytes?: number | null;
                workers?: number | null;
                schedules?: number | null;
                users?: number | null;
                tokens_per_user?: number | null;
                in_flight?: number | null;
                dispatch_per_second?: number | null;
            };
        };
        AccountPage: {
            data: components["schemas"]["ListedAccount"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        AccountState: {
            id: string;
            domain: string;
            /** Format: uri */
            api_url: string;
            /** @enum {string} */
            status: "active" | "suspended" | "deleting" | "deleted";
            /** Format: date-time */
            created_at: string;
            /** @description Number of active owners. */
            owners: number;
            limits: components["schemas"]["TenantLimits"];
            /** @description Names of the limits that the operator has changed; the others have their defaults. */
            changed_limits: string[];
            use: {
                open_tasks: number;
                workers: number;
                schedules: number;
                users: number;
                in_flight: number;
            };
            /** @description Null unless the account is being deleted or has been deleted. */
            deletion: {
                /** Format: date-time */
                requested_at: string;
                tasks_left: number;
                /** Format: date-time */
                finished_at: string | null;
                /**
                 * Format: date-time
                 * @description When the domain can be used again.
                 */
                domain_free_at: string | null;
            } | null;
        };
        Actor: {
            type: string;
            id: string;
        };
        AuditEntry: {
            id: string;
            /** Format: date-time */
            at: string;
            /** @enum {string} */
            action: "account.created" | "account.suspended" | "account.resumed" | "account.limits_changed" | "account.deleted" | "account.owner_token_created" | "user.created" | "user.updated" | "user.deleted" | "token.created" | "token.deleted" | "worker.created" | "worker.updated" | "worker.deleted" | "secret.created" | "secret.deleted" | "schedule.created" | "schedule.updated" | "schedule.deleted" | "tasks.bulk_action";
            /** @description The caller that made the change; type `system` with id `operator` for the operator of the service. */
            actor: {
                type: string;
                id: string;
            };
            /** @description The token that was used. */
            token_id: string | null;
            /** @description The id of the changed resource; null for bulk actions. */
            target_id: string | null;
            /** @description The name of a worker, schedule, token or secret. */
            target_name: string | null;
            /** @description Names of the fields in the request. Their values are not recorded. */
            changed: string[];
            /** @description Further details, such as the number of tasks that a bulk action changed. */
            details: {
                [key: string]: string | number;
            };
            /** @description The `X-Request-Id` of the request. */
            request_id: string;
        };
        AuditPage: {
            data: components["schemas"]["AuditEntry"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        AutoPauseFields: {
            after: string | number;
        };
        CatchUp: {
            mode: string;
            window: string;
            max: number;
        };
        CatchUpFields: {
            /** @enum {string} */
            mode?: "none" | "latest" | "all";
            /** @description Maximum age of a missed run: 10s to 7d. Default: 1h. */
            window?: string | number | null;
            max?: number;
        };
        Completion: {
            /** @description At most 16 KiB of JSON. */
            result?: unknown;
        };
        CreatedSecret: {
            id: string;
            /** @enum {string} */
            type: "signing" | "header" | "token";
            name: string;
            /** @description Equal for equal values. */
            fingerprint: string;
            /** @enum {string} */
            state: "active" | "expiring" | "expired";
            /** Format: date-time */
            created_at: string;
            created_by: components["schemas"]["Actor"];
            /**
             * Format: date-time
             * @description Accurate to ten minutes.
             */
            last_used_at: string | null;
            /** Format: date-time */
            expires_at: string | null;
            /** @description The value, if the service generated it. Shown only here, and null in replayed responses. */
            value: string | null;
        };
        CreatedTask: {
            id: string;
            /** @description Name of the worker. */
            worker: string;
            worker_id: string;
            type: string | null;
            /** @enum {string} */
            status: "scheduled" | "running" | "retry" | "paused" | "succeeded" | "failed" | "canceled" | "expired";
            /** @enum {string} */
            priority: "critical" | "high" | "normal" | "low" | "bulk";
            /** Format: date-time */
            run_at: string;
            /**
             * Format: date-time
             * @description When the task is due; null while it is running, held by another task, or finished.
             */
            next_attempt_at: string | null;
            /**
             * @description Why a due task has not started; null if it is not due. Only present when tasks are read or listed. `held`: the task in `held_by` has not finished; `tenant_suspended`: the account is suspended; `worker_deleted`: the worker is being deleted; `paused`: the worker is paused; `group`: the `group_concurrency` of the worker is reached for its `group`, or with `group_order: fifo` another task is before it; `throttled`: the worker answered with Retry-After, and the delay has not passed; `concurrency`: the `concurrency` of the worker is reached; `rate`: the `rate` of the worker is reached; `limit`: the `limit` of the worker is used up until its window ends, or the decision service is unavailable; `tenant_share`: the account has reached its limit of tasks in flight or of starts per second, or its share of the deliveries of the process; `secrets_unreadable`: a secret of the worker cannot be decrypted with the master key; `capacity`: all slots for deliveries are in use, or the task is just about to start; `pull_worker`: no pull worker has leased it.
             * @enum {string|null}
             */
            waiting_for?: "held" | "tenant_suspended" | "worker_deleted" | "paused" | "group" | "throttled" | "concurrency" | "rate" | "limit" | "tenant_share" | "secrets_unreadable" | "capacity" | "pull_worker" | null;
            /**
             * Format: date-time
             * @description When the task became due, or would have become due if it were not held; null if `waiting_for` is null.
             */
            waiting_since?: string | null;
            /** Format: date-time */
            expires_at: string | null;
            timeout: string;
            retry: components["schemas"]["Retry"];
            /** @description Number of attempts that were started and counted. */
            attempt: number;
            max_attempts: number;
            deferrals: number;
            key: string | null;
            key_ttl: string;
            tags: string[];
            metadata: {
                [key: string]: string;
            };
            last_error: components["schemas"]["TaskError"] | null;
            /** Format: date-time */
            cancel_requested_at: string | null;
            group: string | null;
            schedule_id: string | null;
            /** Format: date-time */
            scheduled_for: string | null;
            /** @description The task that must finish before this one can start. */
            held_by: string | null;
            /** @description The task that this callback reports on; created by the `on_finish` of its worker. */
            callback_of: string | null;
            created_by: components["schemas"]["Actor"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
            version: number;
            /** @description Shown, like headers and result, only if the caller may see payloads; in lists only with `include=payload`. */
            payload?: unknown;
            /** @description In place of payload, which is null, if the payload is not JSON. */
            payload_base64?: string;
            /** @description Only with payload_base64. */
            content_type?: string;
            /** @description The URL of the task; null if it uses the URL of its worker. Shown under the same conditions as payload. */
            url?: string | null;
            headers?: {
                [key: string]: string;
            };
            result?: unknown;
            /** @description An open task has the key, and this is that task. */
            deduplicated: boolean;
            /** @description The task was replaced with the content of this request. */
            replaced?: boolean;
            /**
             * Format: date-time
             * @description Until when the key stays reserved; null while the task is open.
             */
            key_free_at: string | null;
        };
        Dst: {
            gap: string;
            overlap: string;
        };
        DstFields: {
            /**
             * @description For a local time that does not exist: run right after the gap, or skip the run.
             * @enum {string}
             */
            gap?: "run_after" | "skip";
            /**
             * @description For a local time that occurs twice: run once or twice.
             * @enum {string}
             */
            overlap?: "once" | "twice";
        };
        Failure: {
            error: {
                code: string;
                message: string;
                /** @description At most 4 KiB of JSON. Appended to the message, which is cut to 1,000 characters. */
                details?: unknown;
            };
            /** @description false: the task fails without further retries. */
            retry?: boolean;
            /** @description Minimum delay until the next attempt, at most 7d. */
            retry_after?: string | number | null;
        };
        Heartbeat: {
            /** @description How long the lease lasts from now: 5s to 12h. Default: the lease of the worker. */
            extend?: string | number | null;
            progress?: number | null;
            note?: string | null;
        };
        HeartbeatResult: {
            /** Format: date-time */
            expires_at: string;
            /** @description The cancellation of the task was requested: end the attempt. */
            cancel_requested: boolean;
        };
        HistoryEntry: {
            seq: number;
            /** Format: date-time */
            at: string;
            /** @enum {string} */
            event: "created" | "updated" | "paused" | "resumed" | "started" | "heartbeat_progress" | "succeeded" | "attempt_failed" | "timed_out" | "lease_expired" | "deferred" | "released" | "cancel_requested" | "canceled" | "expired" | "replayed" | "no_retry" | "gap";
            /** @enum {string|null} */
            from: "scheduled" | "running" | "retry" | "paused" | "succeeded" | "failed" | "canceled" | "expired" | null;
            /** @enum {string} */
            to: "scheduled" | "running" | "retry" | "paused" | "succeeded" | "failed" | "canceled" | "expired";
            attempt: number;
            actor: components["schemas"]["Actor"];
            lease_id_suffix?: string;
            http?: {
                status: number;
                duration_ms: number;
                /** @description Only present if the caller may see payloads. */
                response?: string;
                truncated: boolean;
            };
            error?: {
                code: string;
                message: string;
            };
            /** Format: date-time */
            next_attempt_at?: string;
            changed?: string[];
            progress?: number;
            note?: string;
            /** @description For `gap`: the number of entries that were removed. */
            dropped?: number;
        };
        HistoryPage: {
            data: components["schemas"]["HistoryEntry"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        ItemError: {
            /** @enum {string} */
            code: "chunks_too_small" | "invalid_json" | "invalid_parameter" | "invalid_cursor" | "invalid_status" | "conflicting_fields" | "invalid_time_range" | "authentication_required" | "invalid_token" | "token_expired" | "insufficient_role" | "insufficient_scope" | "tenant_suspended" | "payload_hidden" | "not_found" | "tenant_not_found" | "method_not_allowed" | "not_acceptable" | "domain_taken" | "name_taken" | "task_key_exists" | "idempotency_in_progress" | "task_running" | "invalid_transition" | "lease_lost" | "worker_has_tasks" | "worker_in_use" | "worker_mode_mismatch" | "secrets_unreadable" | "last_owner" | "last_owner_token" | "version_mismatch" | "payload_too_large" | "body_too_large" | "batch_too_large" | "unsupported_media_type" | "validation_failed" | "unknown_field" | "invalid_cron" | "invalid_timezone" | "invalid_url" | "forbidden_address" | "idempotency_key_reused" | "invalid_domain" | "rate_limited" | "quota_exceeded" | "internal" | "store_unavailable" | "wrong_master_key" | "identity_unavailable" | "overloaded" | "interrupted" | "shutting_down";
            title: string;
            detail: string;
            /** @description The open task that has the key. */
            task_id?: string;
            limit?: string;
            max?: number;
            errors?: {
                /** @description Relative to the item. */
                pointer?: string;
                parameter?: string;
                code: string;
                detail: string;
            }[];
        };
        Lease: {
            lease_id: string;
            /** Format: date-time */
            expires_at: string;
            /** @description Trace context of the call that created the task (W3C Trace Context); null for none. */
            traceparent: string | null;
            tracestate: string | null;
            task: components["schemas"]["Task"];
        };
        LeaseRequest: {
            /** @description Maximum number of tasks. Default: 1. Fewer are returned if their payloads exceed 1 MiB in total. */
            max?: number;
            /** @description How long to wait for the first task: 0s to 30s. Default: 0s. */
            wait?: string | number;
            /** @description How long a lease lasts without a heartbeat: 5s to 12h. Default: the lease of the worker. */
            lease?: string | number | null;
            /** @description Name of the calling instance, recorded in the history as the actor that started the attempt. No control characters. */
            instance?: string;
        };
        Leases: {
            leases: components["schemas"]["Lease"][];
        };
        Limit: {
            domain: string;
            descriptor: components["schemas"]["LimitEntry"][];
        };
        LimitEntry: {
            key: string;
            value: string;
        };
        LimitEntryFields: {
            key: string;
            value: string;
        };
        LimitFields: {
            /** @description A domain that the operator lists in TASKS_LIMIT_DOMAINS or TASKS_LIMIT_SHARED_DOMAINS. For the former, the service puts the entry `tenant` (the domain of the account) before the descriptor. */
            domain: string;
            descriptor: components["schemas"]["LimitEntryFields"][];
        };
        Limits: {
            limits: components["schemas"]["TenantLimits"];
            use: {
                open_tasks: number;
                workers: number;
                schedules: number;
                users: number;
                in_flight: number;
            };
            /** @description The version of the IANA time zone data in use. */
            time_zone_data: string;
        };
        ListedAccount: {
            id: string;
            domain: string;
            /** Format: uri */
            api_url: string;
            /** @enum {string} */
            status: "active" | "suspended" | "deleting" | "deleted";
            /** Format: date-time */
            created_at: string;
        };
        MadeToken: {
            id: string;
            user_id: string;
            name: string;
            scopes: string[] | null;
            /** Format: date-time */
            expires_at: string;
            /**
             * Format: date-time
             * @description Accurate to ten minutes.
             */
            last_used_at: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: {
                type: string;
                id: string;
            };
            /** @description Shown only here. Null if the response is replayed for an `Idempotency-Key`. */
            token: string | null;
        };
        Me: {
            account: {
                id: string;
                domain: string;
                /**
                 * @description A suspended account can be read but not changed, and no task starts.
                 * @enum {string}
                 */
                status: "active" | "suspended";
            };
            user: {
                id: string;
                email: string;
                name: string;
            };
            /**
             * @description The role of this caller. A login at an identity provider can have another one than the user.
             * @enum {string}
             */
            role: "owner" | "admin" | "member" | "viewer";
            /** @description The token of this call; null for a login at an identity provider. */
            token: {
                id: string;
                name: string;
                /** Format: date-time */
                expires_at: string;
            } | null;
            /** @description What the token may be used for; null for all that the role allows. */
            scopes: ("tasks:read" | "tasks:write" | "tasks:payload" | "workers:read" | "workers:write" | "schedules:read" | "schedules:write" | "users:read" | "users:write" | "leases")[] | null;
        };
        NewAccount: {
            /** @description The subdomain of the tenant: 3 to 40 of a-z, 0-9 and single hyphens, beginning with a letter. Uppercase letters are converted to lowercase. The domain never changes. */
            domain: string;
        };
        NewSchedule: {
            /** @description Unique in the account. Must not begin with sch_. */
            name: string;
            /** @description Name or id of the worker. */
            worker: string;
            task?: components["schemas"]["ScheduledTaskFields"] | null;
            /** @description Minute, hour, day of month, month, day of week; or six fields beginning with seconds; or @hourly … @yearly. If neither day field is *, a day matches if either of them does. Cannot be combined with every. */
            cron?: string | null;
            /** @description Interval between runs, counted from the Unix epoch: 10s to 366d. Cannot be combined with cron. */
            every?: string | number | null;
            /** @description Offset of the runs within the interval; only with every, and shorter than it. */
            phase?: string | number | null;
            /** @description IANA name of the time zone of cron. Default: UTC. */
            timezone?: string | null;
            /**
             * @description What to do if an earlier task of this schedule is still open. Default: skip.
             * @enum {string|null}
             */
            overlap?: "skip" | "allow" | "queue_one" | "cancel_running" | null;
            catch_up?: components["schemas"]["CatchUpFields"] | null;
            dst?: components["schemas"]["DstFields"] | null;
            /** @description Maximum delay that is added to a run, 0s to 1h; a run never starts after the next one. The delay of a run never changes. Default: 0s. */
            jitter?: string | number | null;
            /**
             * Format: date-time
             * @description No runs before this time; at most ten years ahead.
             */
            start_at?: string | null;
            /**
             * Format: date-time
             * @description No runs at or after this time.
             */
            end_at?: string | null;
            /** @description The schedule ends after this number of runs. Skipped runs and triggers do not count. */
            max_runs?: number | null;
            paused?: boolean;
            pause_reason?: string | null;
            /**
             * Format: date-time
             * @description When the pause ends automatically; only allowed while paused.
             */
            resume_at?: string | null;
        };
        NewSecret: {
            /**
             * @description signing: signs pushes. header: a confidential header field. token: authenticates a pull worker. Default: signing.
             * @enum {string}
             */
            type?: "signing" | "header" | "token";
            /** @description For type header, the name of the header field; otherwise a label. */
            name?: string;
            /** @description Required for type header. For type signing, "whsec_" and the base64 of 24 to 64 bytes; generated if left out. Not allowed for type token, which is always generated. */
            value?: string;
            /** @description How long earlier secrets with the same type and name stay valid: 0s to 7d. Default: 24h. */
            expire_previous_in?: string | number | null;
        };
        NewTask: {
            /** @description Name or id of the worker. */
            worker: string;
            /** @description A label such as email.welcome, in printable ASCII. */
            type?: string | null;
            /**
             * @description Default: the priority of the worker.
             * @enum {string|null}
             */
            priority?: "critical" | "high" | "normal" | "low" | "bulk" | null;
            /**
             * Format: date-time
             * @description Earliest start, at most 366 days ahead. A time in the past means now.
             */
            run_at?: string | null;
            /**
             * Format: date-time
             * @description The task expires if it has not started by this time.
             */
            expires_at?: string | null;
            /** @description The task expires if it has not started within this time. Cannot be combined with expires_at. */
            expires_in?: string | number | null;
            /** @description Delay until the earliest start. Cannot be combined with run_at. */
            delay?: string | number | null;
            /** @description Timeout of an attempt: 1s to 15m for push workers, up to 24h for the leases of pull workers. Default: the timeout of the worker. */
            timeout?: string | number | null;
            retry?: components["schemas"]["RetryFields"] | null;
            /** @description A worker has at most one open task with this key. */
            key?: string | null;
            /**
             * @description What to do if an open task has the key. Default: return.
             * @enum {string}
             */
            on_conflict?: "return" | "reject" | "replace" | "replace_keep_time";
            /** @description How long the key stays reserved after the task has finished, at most 30d. */
            key_ttl?: string | number | null;
            tags?: string[] | null;
            /** @description Key-value pairs that are never sent to the worker, at most 4 KiB in total. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Tasks of a worker with the same group share the worker's group_concurrency and group_order. No control characters. */
            group?: string | null;
            /** @description Any JSON, at most 256 KiB. */
            payload?: unknown;
            /** @description A payload that is not JSON: bytes in base64, with padding and without line breaks. The size limit is that of payload and applies to the decoded bytes. Cannot be combined with payload. */
            payload_base64?: string | null;
            /** @description The Content-Type of payload_base64. Default: application/octet-stream. */
            content_type?: string | null;
            /**
             * Format: uri
             * @description The URL that the task is pushed to. Required for workers with task_urls, and not allowed for others.
             */
            url?: string | null;
            /** @description Header fields for a push worker, at most 8 KiB in total. */
            headers?: {
                [key: string]: string;
            } | null;
        };
        NewTaskResult: {
            /** @description The HTTP status that POST /v1/tasks would have returned. */
            status: number;
            task?: components["schemas"]["CreatedTask"];
            error?: components["schemas"]["ItemError"];
        };
        NewTaskResults: {
            /** @description One result for each task, in the same order. */
            results: components["schemas"]["NewTaskResult"][];
        };
        NewTasks: {
            /** @description At most 500 tasks in at most 5 MiB. */
            tasks: components["schemas"]["NewTask"][];
            /** @description Create all tasks or none: if one is rejected, none is created. */
            atomic?: boolean;
        };
        NewToken: {
            /** @description The purpose of the token. */
            name?: string;
            /** @description Restricts the token to these scopes. If null or left out, the token allows everything that the role of the user allows. */
            scopes?: ("tasks:read" | "tasks:write" | "tasks:payload" | "workers:read" | "workers:write" | "schedules:read" | "schedules:write" | "users:read" | "users:write" | "leases" | "tasks:*" | "workers:*" | "schedules:*" | "users:*")[] | null;
            /**
             * Format: date-time
             * @description At most 366 days ahead. Default: 90 days ahead.
             */
            expires_at?: string;
        };
        NewUser: {
            /** @description Unique in the account, ignoring case. May contain non-ASCII letters. */
            email: string;
            name?: string;
            /**
             * @description Default: `member`.
             * @enum {string}
             */
            role?: "owner" | "admin" | "member" | "viewer";
            /**
             * @description Tokens of disabled users are rejected.
             * @enum {string}
             */
            status?: "invited" | "active" | "disabled";
            /** @description The subject (`sub`) of the user at the identity provider; unique in the account. */
            external_id?: string | null;
        };
        NewWorker: {
            /** @description Unique in the account. Must not begin with wrk_. Cannot change while the worker has tasks. */
            name: string;
            /**
             * @description Default: push if url or task_urls is given, otherwise pull. Can only change while no task is running.
             * @enum {string}
             */
            mode?: "push" | "pull";
            /**
             * Format: uri
             * @description The URL that tasks are pushed to.
             */
            url?: string | null;
            /** @description Each task has its own URL, in place of url. Header secrets are not sent to these URLs. */
            task_urls?: boolean;
            /** @enum {string|null} */
            method?: "POST" | "PUT" | "PATCH" | null;
            /** @description Header fields of each push, at most 8 KiB. All users of the account can read them; use header secrets for confidential values. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Timeout of attempts whose task has none: 1s to 15m for push (default: 30s), 1s to 24h for pull (default: 24h). */
            timeout?: string | number | null;
            /** @description How long a lease lasts without a heartbeat: 5s to 12h. Default: 60s. */
            lease?: string | number | null;
            retry?: components["schemas"]["RetryFields"] | null;
            /** @description Maximum number of concurrent attempts, over all processes; null: no limit. Default: 10 for push, null for pull. */
            concurrency?: number | null;
            rate?: components["schemas"]["RateFields"] | null;
            limit?: components["schemas"]["LimitFields"] | null;
            /** @description Maximum number of concurrent attempts for tasks of the same group, over all processes; null: no limit. */
            group_concurrency?: number | null;
            /**
             * @description fifo, only with a group_concurrency of 1: tasks of a group start in the order of run_at, then of creation. A task that waits for a retry blocks the tasks behind it; a paused task does not. Default: any.
             * @enum {string|null}
             */
            group_order?: "any" | "fifo" | null;
            on_finish?: components["schemas"]["OnFinishFields"] | null;
            /** @enum {string|null} */
            priority?: "critical" | "high" | "normal" | "low" | "bulk" | null;
            /** @description HTTP statuses after which a task fails without further retries. */
            no_retry_on?: number[] | null;
            paused?: boolean;
            pause_reason?: string | null;
            /**
             * Format: date-time
             * @description When the pause ends automatically; only allowed while paused.
             */
            resume_at?: string | null;
            auto_pause?: components["schemas"]["AutoPauseFields"] | null;
        };
        OnFinish: {
            /** @description The id of the worker that gets the callbacks. */
            worker: string;
            events: ("succeeded" | "failed" | "canceled" | "expired")[];
        };
        OnFinishFields: {
            /** @description Name or id of the other worker. */
            worker: string;
            /** @description The final statuses that cause a callback. Default: all. */
            events?: ("succeeded" | "failed" | "canceled" | "expired")[];
        };
        Outcome: {
            lease_id: string;
            /** @enum {string} */
            outcome: "complete" | "fail" | "release";
            /** @description At most 16 KiB of JSON. */
            result?: unknown;
            error?: {
                code: string;
                message: string;
                /** @description At most 4 KiB of JSON. Appended to the message, which is cut to 1,000 characters. */
                details?: unknown;
            };
            /** @description false: the task fails without further retries. */
            retry?: boolean;
            /** @description Minimum delay until the next attempt, at most 7d. */
            retry_after?: string | number | null;
            /** @description Delay until the next attempt, at most 7d. Default: none. */
            delay?: string | number | null;
        };
        OutcomeResult: {
            lease_id: string;
            /** @description The HTTP status that a request for this outcome alone would have returned. */
            status: number;
            task?: components["schemas"]["Task"];
            error?: components["schemas"]["ItemError"];
        };
        OutcomeResults: {
            /** @description One result for each outcome, in the same order. */
            results: components["schemas"]["OutcomeResult"][];
        };
        Outcomes: {
            outcomes: components["schemas"]["Outcome"][];
        };
        OwnerToken: {
            id: string;
            user_id: string;
            /** @description Shown only here. Null if the response is replayed for an `Idempotency-Key`. */
            token: string | null;
            /** Format: date-time */
            expires_at: string;
        };
        PreviewedTime: {
            /** Format: date-time */
            at: string;
            /** @description The time in the time zone of the schedule, with its offset. */
            local: string;
            /**
             * @description Effect of a clock change. moved_by_dst: the local time does not exist, and the run is at the first moment after the gap. first_of_two, second_of_two: the local time occurs twice. previous_skipped_by_dst: the run before this one was skipped, because its local time does not exist and gap is skip.
             * @enum {string|null}
             */
            note: "moved_by_dst" | "first_of_two" | "second_of_two" | "previous_skipped_by_dst" | null;
        };
        Rate: {
            limit: number;
            per: string;
            burst: number;
        };
        RateFields: {
            limit: number;
            /** @description 1s to 1d. */
            per: string | number;
            /** @description Size of the bucket, at most ten times the limit. Default: the limit. */
            burst?: number;
        };
        Release: {
            /** @description Delay until the next attempt, at most 7d. Default: none. */
            delay?: string | number | null;
        };
        Retry: {
            max_attempts: number;
            base: string;
            factor: number;
            max: string;
            jitter: number;
            schedule: string[] | null;
            max_age: string | null;
        };
        RetryFields: {
            max_attempts?: number;
            /** @description Initial delay, 100ms to 1h. */
            base?: string | number;
            /** @description Factor by which the delay grows; 1 keeps it constant. */
            factor?: number;
            /** @description Maximum delay, at most 24h. */
            max?: string | number;
            jitter?: number;
            /** @description Delays that replace base, factor, max and jitter, each at most 30d; the last one repeats. */
            schedule?: (string | number)[] | null;
            /** @description No further attempt is made this long after the start of the first one, 1s to 366d. */
            max_age?: string | number | null;
        };
        RetryPart: {
            max_attempts?: number;
            base?: string;
            factor?: number;
            max?: string;
            jitter?: number;
            schedule?: string[] | null;
            max_age?: string | null;
        };
        Schedule: {
            id: string;
            name: string;
            worker: string;
            worker_id: string;
            task: components["schemas"]["ScheduledTask"];
            cron: string | null;
            every: string | null;
            phase: string;
            timezone: string;
            overlap: string;
            catch_up: components["schemas"]["CatchUp"];
            dst: components["schemas"]["Dst"];
            jitter: string;
            /** Format: date-time */
            start_at: string | null;
            /** Format: date-time */
            end_at: string | null;
            max_runs: number | null;
            /** @description Remaining runs of max_runs; null if max_runs is null. */
            runs_left: number | null;
            paused: boolean;
            pause_reason: string | null;
            /** Format: date-time */
            resume_at: string | null;
            /** @description The next nominal times, without jitter. For a paused schedule, the times after the pause. Empty if the schedule has ended. */
            next_runs: string[];
            last_run: components["schemas"]["ScheduleRun"] | null;
            fired: number;
            /** @description Number of runs skipped because an earlier task was still open. */
            skipped_overlap: number;
            /** @description Number of missed runs that were not made up for. At most 1,000 are counted per outage. */
            skipped_window: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            version: number;
        };
        ScheduleChanges: {
            /** @description Unique in the account. Must not begin with sch_. */
            name?: string;
            /** @description Name or id of the worker. */
            worker?: string;
            task?: components["schemas"]["ScheduledTaskFields"] | null;
            /** @description Minute, hour, day of month, month, day of week; or six fields beginning with seconds; or @hourly … @yearly. If neither day field is *, a day matches if either of them does. Cannot be combined with every. */
            cron?: string | null;
            /** @description Interval between runs, counted from the Unix epoch: 10s to 366d. Cannot be combined with cron. */
            every?: string | number | null;
            /** @description Offset of the runs within the interval; only with every, and shorter than it. */
            phase?: string | number | null;
            /** @description IANA name of the time zone of cron. Default: UTC. */
            timezone?: string | null;
            /**
             * @description What to do if an earlier task of this schedule is still open. Default: skip.
             * @enum {string|null}
             */
            overlap?: "skip" | "allow" | "queue_one" | "cancel_running" | null;
            catch_up?: components["schemas"]["CatchUpFields"] | null;
            dst?: components["schemas"]["DstFields"] | null;
            /** @description Maximum delay that is added to a run, 0s to 1h; a run never starts after the next one. The delay of a run never changes. Default: 0s. */
            jitter?: string | number | null;
            /**
             * Format: date-time
             * @description No runs before this time; at most ten years ahead.
             */
            start_at?: string | null;
            /**
             * Format: date-time
             * @description No runs at or after this time.
             */
            end_at?: string | null;
            /** @description The schedule ends after this number of runs. Skipped runs and triggers do not count. */
            max_runs?: number | null;
            paused?: boolean;
            pause_reason?: string | null;
            /**
             * Format: date-time
             * @description When the pause ends automatically; only allowed while paused.
             */
            resume_at?: string | null;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly worker_id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly runs_left?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly next_runs?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly last_run?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly fired?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly skipped_overlap?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly skipped_window?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly created_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly updated_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly version?: unknown;
        };
        SchedulePage: {
            data: components["schemas"]["Schedule"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        SchedulePreview: {
            timezone: string;
            /** @description Fewer than count if the schedule ends, or if further times are more than ten years ahead. */
            times: components["schemas"]["PreviewedTime"][];
        };
        SchedulePreviewFields: {
            /** @description Minute, hour, day of month, month, day of week; or six fields beginning with seconds; or @hourly … @yearly. If neither day field is *, a day matches if either of them does. Cannot be combined with every. */
            cron?: string | null;
            /** @description Interval between runs, counted from the Unix epoch: 10s to 366d. Cannot be combined with cron. */
            every?: string | number | null;
            /** @description Offset of the runs within the interval; only with every, and shorter than it. */
            phase?: string | number | null;
            /** @description IANA name of the time zone of cron. Default: UTC. */
            timezone?: string | null;
            dst?: components["schemas"]["DstFields"] | null;
            /**
             * Format: date-time
             * @description No runs before this time; at most ten years ahead.
             */
            start_at?: string | null;
            /**
             * Format: date-time
             * @description No runs at or after this time.
             */
            end_at?: string | null;
            /** @description Number of times. Default: 10. */
            count?: number;
            /**
             * Format: date-time
             * @description Start of the preview, at most ten years ahead. Default: now.
             */
            from?: string;
        };
        ScheduleRun: {
            /** Format: date-time */
            scheduled_for: string;
            task_id: string;
            /**
             * @description Only present when a single schedule is read; null if the task no longer exists.
             * @enum {string|null}
             */
            status?: "scheduled" | "running" | "retry" | "paused" | "succeeded" | "failed" | "canceled" | "expired" | null;
        };
        ScheduledTask: {
            type: string | null;
            /** @enum {string|null} */
            priority: "critical" | "high" | "normal" | "low" | "bulk" | null;
            timeout: string | null;
            retry: components["schemas"]["RetryPart"] | null;
            tags: string[];
            metadata: {
                [key: string]: string;
            };
            /** @description Shown, like headers and result, only if the caller may see payloads; in lists only with `include=payload`. */
            payload?: unknown;
            /** @description In place of payload, which is null, if the payload is not JSON. */
            payload_base64?: string;
            /** @description Only with payload_base64. */
            content_type?: string;
            headers?: {
                [key: string]: string;
            };
            group: string | null;
            expires_in: string | null;
        };
        ScheduledTaskFields: {
            /** @description A label such as email.welcome, in printable ASCII. */
            type?: string | null;
            /**
             * @description Default: the priority of the worker.
             * @enum {string|null}
             */
            priority?: "critical" | "high" | "normal" | "low" | "bulk" | null;
            /** @description Timeout of an attempt: 1s to 15m for push workers, up to 24h for the leases of pull workers. Default: the timeout of the worker. */
            timeout?: string | number | null;
            retry?: components["schemas"]["RetryFields"] | null;
            tags?: string[] | null;
            /** @description Key-value pairs that are never sent to the worker, at most 4 KiB in total. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Any JSON, at most 256 KiB. */
            payload?: unknown;
            /** @description A payload that is not JSON: bytes in base64, with padding and without line breaks. The size limit is that of payload and applies to the decoded bytes. Cannot be combined with payload. */
            payload_base64?: string | null;
            /** @description The Content-Type of payload_base64. Default: application/octet-stream. */
            content_type?: string | null;
            /** @description Header fields for a push worker, at most 8 KiB in total. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Tasks of a worker with the same group share the worker's group_concurrency and group_order. No control characters. */
            group?: string | null;
            /** @description A task expires if it has not started this long after its run_at. */
            expires_in?: string | number | null;
        };
        Secret: {
            id: string;
            /** @enum {string} */
            type: "signing" | "header" | "token";
            name: string;
            /** @description Equal for equal values. */
            fingerprint: string;
            /** @enum {string} */
            state: "active" | "expiring" | "expired";
            /** Format: date-time */
            created_at: string;
            created_by: components["schemas"]["Actor"];
            /**
             * Format: date-time
             * @description Accurate to ten minutes.
             */
            last_used_at: string | null;
            /** Format: date-time */
            expires_at: string | null;
        };
        SecretPage: {
            data: components["schemas"]["Secret"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        Task: {
            id: string;
            /** @description Name of the worker. */
            worker: string;
            worker_id: string;
            type: string | null;
            /** @enum {string} */
            status: "scheduled" | "running" | "retry" | "paused" | "succeeded" | "failed" | "canceled" | "expired";
            /** @enum {string} */
            priority: "critical" | "high" | "normal" | "low" | "bulk";
            /** Format: date-time */
            run_at: string;
            /**
             * Format: date-time
             * @description When the task is due; null while it is running, held by another task, or finished.
             */
            next_attempt_at: string | null;
            /**
             * @description Why a due task has not started; null if it is not due. Only present when tasks are read or listed. `held`: the task in `held_by` has not finished; `tenant_suspended`: the account is suspended; `worker_deleted`: the worker is being deleted; `paused`: the worker is paused; `group`: the `group_concurrency` of the worker is reached for its `group`, or with `group_order: fifo` another task is before it; `throttled`: the worker answered with Retry-After, and the delay has not passed; `concurrency`: the `concurrency` of the worker is reached; `rate`: the `rate` of the worker is reached; `limit`: the `limit` of the worker is used up until its window ends, or the decision service is unavailable; `tenant_share`: the account has reached its limit of tasks in flight or of starts per second, or its share of the deliveries of the process; `secrets_unreadable`: a secret of the worker cannot be decrypted with the master key; `capacity`: all slots for deliveries are in use, or the task is just about to start; `pull_worker`: no pull worker has leased it.
             * @enum {string|null}
             */
            waiting_for?: "held" | "tenant_suspended" | "worker_deleted" | "paused" | "group" | "throttled" | "concurrency" | "rate" | "limit" | "tenant_share" | "secrets_unreadable" | "capacity" | "pull_worker" | null;
            /**
             * Format: date-time
             * @description When the task became due, or would have become due if it were not held; null if `waiting_for` is null.
             */
            waiting_since?: string | null;
            /** Format: date-time */
            expires_at: string | null;
            timeout: string;
            retry: components["schemas"]["Retry"];
            /** @description Number of attempts that were started and counted. */
            attempt: number;
            max_attempts: number;
            deferrals: number;
            key: string | null;
            key_ttl: string;
            tags: string[];
            metadata: {
                [key: string]: string;
            };
            last_error: components["schemas"]["TaskError"] | null;
            /** Format: date-time */
            cancel_requested_at: string | null;
            group: string | null;
            schedule_id: string | null;
            /** Format: date-time */
            scheduled_for: string | null;
            /** @description The task that must finish before this one can start. */
            held_by: string | null;
            /** @description The task that this callback reports on; created by the `on_finish` of its worker. */
            callback_of: string | null;
            created_by: components["schemas"]["Actor"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
            version: number;
            /** @description Shown, like headers and result, only if the caller may see payloads; in lists only with `include=payload`. */
            payload?: unknown;
            /** @description In place of payload, which is null, if the payload is not JSON. */
            payload_base64?: string;
            /** @description Only with payload_base64. */
            content_type?: string;
            /** @description The URL of the task; null if it uses the URL of its worker. Shown under the same conditions as payload. */
            url?: string | null;
            headers?: {
                [key: string]: string;
            };
            result?: unknown;
        };
        TaskAction: {
            /**
             * @description delete requires the role admin.
             * @enum {string}
             */
            action: "retry" | "cancel" | "pause" | "resume" | "run" | "delete";
            ids?: string[];
            /** @description Selects tasks in place of ids, with the filters of lists. Without a status, it selects tasks with the statuses that the action applies to; for retry, failed and expired tasks. */
            filter?: {
                /** @description Name or id of a worker. */
                worker?: string;
                /** @description One status or a comma-separated list: scheduled, running, retry, paused, succeeded, failed, canceled, expired. */
                status?: string;
                /** @description Created at or after this time: a time, a date, a month, a year, Unix seconds or milliseconds, or a relative time such as -24h. */
                start?: string;
                /** @description Created before this time. A date, a month or a year is included entirely. */
                end?: string;
                /** @description Id or name of a schedule. */
                schedule?: string;
                /** @description The `key` of the task, even if it is no longer reserved. */
                key?: string;
                /** @description The exact `type` of the task. */
                type?: string;
                /** @description One of the `tags` of the task. */
                tag?: string;
                /** @description The `group` of the task. */
                group?: string;
                /** @description Part of the code or the message of `last_error`, ignoring case. */
                error?: string;
                /** @description `created_at` (default), or `run_at` to list the waiting tasks (`scheduled`, `retry`) of one `worker` by their due time. `start` and `end` then apply to the due time. */
                by?: string;
            };
            /** @description Maximum number of tasks that a filter selects. Default: 1000. */
            limit?: number;
            /** @description The next_cursor of the previous response. */
            cursor?: string;
            /** @description Report what would be done, without doing it. */
            dry_run?: boolean;
        };
        TaskActionResult: {
            /** @description Number of selected tasks. */
            matched: number;
            changed: number;
            /** @description The first 100 tasks that were not changed. */
            skipped: {
                id: string;
                /** @enum {string} */
                code: "chunks_too_small" | "invalid_json" | "invalid_parameter" | "invalid_cursor" | "invalid_status" | "conflicting_fields" | "invalid_time_range" | "authentication_required" | "invalid_token" | "token_expired" | "insufficient_role" | "insufficient_scope" | "tenant_suspended" | "payload_hidden" | "not_found" | "tenant_not_found" | "method_not_allowed" | "not_acceptable" | "domain_taken" | "name_taken" | "task_key_exists" | "idempotency_in_progress" | "task_running" | "invalid_transition" | "lease_lost" | "worker_has_tasks" | "worker_in_use" | "worker_mode_mismatch" | "secrets_unreadable" | "last_owner" | "last_owner_token" | "version_mismatch" | "payload_too_large" | "body_too_large" | "batch_too_large" | "unsupported_media_type" | "validation_failed" | "unknown_field" | "invalid_cron" | "invalid_timezone" | "invalid_url" | "forbidden_address" | "idempotency_key_reused" | "invalid_domain" | "rate_limited" | "quota_exceeded" | "internal" | "store_unavailable" | "wrong_master_key" | "identity_unavailable" | "overloaded" | "interrupted" | "shutting_down" | "unchanged";
            }[];
            /** @description The cursor for the next request if more tasks match. */
            next_cursor: string | null;
        };
        TaskChanges: {
            /** @description A label such as email.welcome, in printable ASCII. */
            type?: string | null;
            /**
             * @description scheduled, paused or canceled, or the current status. scheduled resumes a paused task and replays a finished task, with the other fields of this request.
             * @enum {string}
             */
            status?: "scheduled" | "running" | "retry" | "paused" | "succeeded" | "failed" | "canceled" | "expired";
            /**
             * @description Default: the priority of the worker.
             * @enum {string|null}
             */
            priority?: "critical" | "high" | "normal" | "low" | "bulk" | null;
            /**
             * Format: date-time
             * @description Earliest start, at most 366 days ahead. A time in the past means now.
             */
            run_at?: string | null;
            /**
             * Format: date-time
             * @description The task expires if it has not started by this time.
             */
            expires_at?: string | null;
            /** @description The task expires if it has not started within this time. Cannot be combined with expires_at. */
            expires_in?: string | number | null;
            /** @description Timeout of an attempt: 1s to 15m for push workers, up to 24h for the leases of pull workers. Default: the timeout of the worker. */
            timeout?: string | number | null;
            retry?: components["schemas"]["RetryFields"] | null;
            tags?: string[] | null;
            /** @description Key-value pairs that are never sent to the worker, at most 4 KiB in total. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Any JSON, at most 256 KiB. */
            payload?: unknown;
            /** @description A payload that is not JSON: bytes in base64, with padding and without line breaks. The size limit is that of payload and applies to the decoded bytes. Cannot be combined with payload. */
            payload_base64?: string | null;
            /** @description The Content-Type of payload_base64. Default: application/octet-stream. */
            content_type?: string | null;
            /** @description Header fields for a push worker, at most 8 KiB in total. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly worker?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly worker_id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly next_attempt_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly waiting_for?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly waiting_since?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly attempt?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly max_attempts?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly deferrals?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly key?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly key_ttl?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly last_error?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly cancel_requested_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly group?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly schedule_id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly scheduled_for?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly held_by?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly callback_of?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly created_by?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly created_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly updated_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly started_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly finished_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly version?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly url?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly result?: unknown;
        };
        TaskCounts: {
            counts: {
                scheduled: number;
                running: number;
                retry: number;
                paused: number;
                succeeded: number;
                failed: number;
                canceled: number;
                expired: number;
            };
        };
        TaskError: {
            code: string;
            message: string;
            http_status?: number;
            /** Format: date-time */
            at: string;
        };
        TaskPage: {
            data: components["schemas"]["Task"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        TenantLimits: {
            /** @description Maximum number of open (not yet finished) tasks. */
            open_tasks: number;
            /** @description How long succeeded tasks are kept. */
            retain_succeeded: string;
            /** @description How long failed, canceled and expired tasks are kept. */
            retain_other: string;
            payload_bytes: number;
            workers: number;
            schedules: number;
            users: number;
            tokens_per_user: number;
            /** @description Maximum number of concurrent attempts. */
            in_flight: number;
            /** @description Maximum number of attempts that start per second. */
            dispatch_per_second: number;
        };
        Token: {
            id: string;
            user_id: string;
            name: string;
            scopes: string[] | null;
            /** Format: date-time */
            expires_at: string;
            /**
             * Format: date-time
             * @description Accurate to ten minutes.
             */
            last_used_at: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: {
                type: string;
                id: string;
            };
        };
        TokenPage: {
            data: components["schemas"]["Token"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        Usage: {
            /**
             * Format: date-time
             * @description Start of the first interval.
             */
            from: string;
            /**
             * Format: date-time
             * @description The time of the response. The last interval has not ended.
             */
            to: string;
            /** @description Length of an interval: 60 for `1h`, otherwise 3600. */
            interval_seconds: number;
            /** @description The worker that the figures are about; null for the whole account. */
            worker: {
                /** @description The id of the worker. */
                id: string;
                /** @description Its name; null if the worker was deleted. */
                name: string | null;
            } | null;
            /** @description All intervals, oldest first. */
            series: components["schemas"]["UsageInterval"][];
            totals: components["schemas"]["UsageTotals"];
            limits: components["schemas"]["UsedLimits"];
        };
        UsageInterval: {
            /**
             * Format: date-time
             * @description Start of the interval.
             */
            at: string;
            /** @description Created tasks, including those of schedules and callbacks. */
            tasks_created: number;
            /** @description Started attempts, including those that were deferred or handed back. */
            attempts_started: number;
            /** @description Attempts that failed or timed out, or whose lease expired. */
            attempts_failed: number;
            /** @description Tasks that succeeded. */
            tasks_succeeded: number;
            /** @description Tasks that failed for good. */
            tasks_failed: number;
            /** @description Tasks that were canceled. */
            tasks_canceled: number;
            /** @description Tasks that did not start before their `expires_at`. */
            tasks_expired: number;
            /** @description How long attempts took: the median in milliseconds, at most 19% off. Null if none has ended. Attempts that were deferred, handed back or canceled, or whose lease expired, are left out. */
            duration_p50_ms: number | null;
            /** @description 95% of the attempts took at most this time in milliseconds. */
            duration_p95_ms: number | null;
            /** @description How long tasks had been due when their attempt started: the median in milliseconds, at most 19% off. Null if none has started. */
            start_lag_p50_ms: number | null;
            /** @description 95% of the attempts started at most this time after their task was due, in milliseconds. */
            start_lag_p95_ms: number | null;
        };
        UsageTotals: {
            /** @description Created tasks, including those of schedules and callbacks. */
            tasks_created: number;
            /** @description Started attempts, including those that were deferred or handed back. */
            attempts_started: number;
            /** @description Attempts that failed or timed out, or whose lease expired. */
            attempts_failed: number;
            /** @description Tasks that succeeded. */
            tasks_succeeded: number;
            /** @description Tasks that failed for good. */
            tasks_failed: number;
            /** @description Tasks that were canceled. */
            tasks_canceled: number;
            /** @description Tasks that did not start before their `expires_at`. */
            tasks_expired: number;
            /** @description How long attempts took: the median in milliseconds, at most 19% off. Null if none has ended. Attempts that were deferred, handed back or canceled, or whose lease expired, are left out. */
            duration_p50_ms: number | null;
            /** @description 95% of the attempts took at most this time in milliseconds. */
            duration_p95_ms: number | null;
            /** @description How long tasks had been due when their attempt started: the median in milliseconds, at most 19% off. Null if none has started. */
            start_lag_p50_ms: number | null;
            /** @description 95% of the attempts started at most this time after their task was due, in milliseconds. */
            start_lag_p95_ms: number | null;
        };
        UsedLimits: {
            /** @description Concurrent attempts. */
            in_flight: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
            };
            /** @description Attempts that start per second. What is used is the average of the last whole minute. */
            dispatch_per_second: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
            };
            /** @description Open (not yet finished) tasks. */
            open_tasks: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
            };
            /** @description Workers. */
            workers: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
            };
            /** @description Schedules. */
            schedules: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
            };
            /** @description Users. */
            users: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
            };
            /** @description Calls of the API that read: the limit with the smallest remaining share. Null if no rule limits them, or if the decision engine did not answer. */
            read_calls: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
                /** @description Length of the window in which calls are counted; null if the rule has another form. */
                window_seconds: number | null;
            } | null;
            /** @description Calls of the API that write: the limit with the smallest remaining share. Null if no rule limits them, or if the decision engine did not answer. */
            write_calls: {
                /** @description The limit of the account. */
                limit: number;
                /** @description How much of it is used now. */
                used: number;
                /** @description Length of the window in which calls are counted; null if the rule has another form. */
                window_seconds: number | null;
            } | null;
        };
        User: {
            id: string;
            /** @description Unique in the account, ignoring case. May contain non-ASCII letters. */
            email: string;
            name: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member" | "viewer";
            /**
             * @description Tokens of disabled users are rejected.
             * @enum {string}
             */
            status: "invited" | "active" | "disabled";
            /** @description The subject (`sub`) of the user at the identity provider; unique in the account. */
            external_id: string | null;
            /** Format: date-time */
            last_seen_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description Also sent as the ETag. */
            version: number;
        };
        UserChange: {
            /** @description Unique in the account, ignoring case. May contain non-ASCII letters. */
            email?: string;
            name?: string;
            /** @enum {string} */
            role?: "owner" | "admin" | "member" | "viewer";
            /**
             * @description Tokens of disabled users are rejected.
             * @enum {string}
             */
            status?: "invited" | "active" | "disabled";
            /** @description The subject (`sub`) of the user at the identity provider; unique in the account. */
            external_id?: string | null;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly last_seen_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly created_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly updated_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly version?: unknown;
        };
        UserPage: {
            data: components["schemas"]["User"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        Worker: {
            id: string;
            name: string;
            /** @enum {string} */
            mode: "push" | "pull";
            url: string | null;
            task_urls: boolean;
            method: string;
            headers: {
                [key: string]: string;
            };
            timeout: string;
            lease: string;
            retry: components["schemas"]["Retry"];
            concurrency: number | null;
            rate: components["schemas"]["Rate"] | null;
            limit: components["schemas"]["Limit"] | null;
            group_concurrency: number | null;
            /** @enum {string} */
            group_order: "any" | "fifo";
            on_finish: components["schemas"]["OnFinish"] | null;
            /** @enum {string} */
            priority: "critical" | "high" | "normal" | "low" | "bulk";
            no_retry_on: number[];
            paused: boolean;
            pause_reason: string | null;
            /** Format: date-time */
            resume_at: string | null;
            auto_pause: {
                after: string;
            } | null;
            health?: components["schemas"]["WorkerHealth"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            version: number;
        };
        WorkerChanges: {
            /** @description Unique in the account. Must not begin with wrk_. Cannot change while the worker has tasks. */
            name?: string;
            /**
             * @description Default: push if url or task_urls is given, otherwise pull. Can only change while no task is running.
             * @enum {string}
             */
            mode?: "push" | "pull";
            /**
             * Format: uri
             * @description The URL that tasks are pushed to.
             */
            url?: string | null;
            /** @description Each task has its own URL, in place of url. Header secrets are not sent to these URLs. */
            task_urls?: boolean;
            /** @enum {string|null} */
            method?: "POST" | "PUT" | "PATCH" | null;
            /** @description Header fields of each push, at most 8 KiB. All users of the account can read them; use header secrets for confidential values. */
            headers?: {
                [key: string]: string;
            } | null;
            /** @description Timeout of attempts whose task has none: 1s to 15m for push (default: 30s), 1s to 24h for pull (default: 24h). */
            timeout?: string | number | null;
            /** @description How long a lease lasts without a heartbeat: 5s to 12h. Default: 60s. */
            lease?: string | number | null;
            retry?: components["schemas"]["RetryFields"] | null;
            /** @description Maximum number of concurrent attempts, over all processes; null: no limit. Default: 10 for push, null for pull. */
            concurrency?: number | null;
            rate?: components["schemas"]["RateFields"] | null;
            limit?: components["schemas"]["LimitFields"] | null;
            /** @description Maximum number of concurrent attempts for tasks of the same group, over all processes; null: no limit. */
            group_concurrency?: number | null;
            /**
             * @description fifo, only with a group_concurrency of 1: tasks of a group start in the order of run_at, then of creation. A task that waits for a retry blocks the tasks behind it; a paused task does not. Default: any.
             * @enum {string|null}
             */
            group_order?: "any" | "fifo" | null;
            on_finish?: components["schemas"]["OnFinishFields"] | null;
            /** @enum {string|null} */
            priority?: "critical" | "high" | "normal" | "low" | "bulk" | null;
            /** @description HTTP statuses after which a task fails without further retries. */
            no_retry_on?: number[] | null;
            paused?: boolean;
            pause_reason?: string | null;
            /**
             * Format: date-time
             * @description When the pause ends automatically; only allowed while paused.
             */
            resume_at?: string | null;
            auto_pause?: components["schemas"]["AutoPauseFields"] | null;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly id?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly health?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly created_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly updated_at?: unknown;
            /** @description Read-only. Accepted with the value that GET returns, so that a response can be sent back. */
            readonly version?: unknown;
        };
        WorkerHealth: {
            /** @description Number of running attempts. */
            in_flight: number;
            /** @description Number of tasks that wait for their start. */
            waiting: number;
            paused: number;
            failed: number;
            /** @description Ended tasks in each of the last 20 minutes, the oldest first; the last one has not ended. */
            ended_spark: number[];
        };
        WorkerPage: {
            data: components["schemas"]["Worker"][];
            /** @description The value of the parameter `cursor` for the next page; null on the last page. The header `Link` has the URL of the next page. */
            next_cursor: string | null;
        };
        WorkerTest: {
            /**
             * @description What an attempt with this result would mean for a task.
             * @enum {string}
             */
            outcome: "succeeded" | "attempt_failed" | "timed_out" | "deferred" | "no_retry";
            duration_ms: number;
            request: components["schemas"]["WorkerTestRequest"] | null;
            response: components["schemas"]["WorkerTestResponse"] | null;
            error: components["schemas"]["WorkerTestError"] | null;
        };
        WorkerTestError: {
            code: string;
            message: string;
        };
        WorkerTestFields: {
            /**
             * Format: uri
             * @description The URL that the task is pushed to. Required for workers with task_urls, and not allowed for others.
             */
            url?: string | null;
            /** @description Any JSON, at most 64 KiB; null for an empty body. Default: {"test":true}. */
            payload?: unknown;
            /** @description A payload that is not JSON: bytes in base64, with padding and without line breaks. The size limit is that of payload and applies to the decoded bytes. Cannot be combined with payload. */
            payload_base64?: string | null;
            /** @description The Content-Type of payload_base64. Default: application/octet-stream. */
            content_type?: string | null;
        };
        WorkerTestRequest: {
            method: string;
            url: string;
            /** @description All header fields, with names in lowercase. Values of secrets are shown as [hidden]. */
            headers: {
                [key: string]: string;
            };
            /** @description Null if the payload was given as payload_base64. */
            body: string | null;
            /** @description In place of body. */
            body_base64?: string;
        };
        WorkerTestResponse: {
            status: number;
            /** @description The first 4 KiB, as text. */
            body: string;
            truncated: boolean;
        };
        /** @description The payload of a callback: a task that reports the end of another task. */
        CallbackPayload: {
            /** @description The task that has ended. */
            id: string;
            worker: string;
            worker_id: string;
            type: string | null;
            key: string | null;
            tags: string[];
            /** @enum {string} */
            status: "succeeded" | "failed" | "canceled" | "expired";
            attempts: number;
            /** @description The last error; null after a success. */
            error: {
                code: string;
                message: string;
                http_status?: number;
                /** Format: date-time */
                at: string;
            } | null;
            /** Format: date-time */
            finished_at: string;
            links: {
                task: string;
                history: string;
            };
            /** @description The result is larger than 16 KiB and not included. */
            result_omitted: boolean;
            /** @description Any JSON; null for none. */
            result: unknown;
        };
        /** @description RFC 9457. */
        Problem: {
            /**
             * Format: uri-reference
             * @description The address of a page that explains the code, relative to the address of the request.
             */
            type: string;
            /** @description The code in words. It is the same in every problem with this code. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /** @enum {string} */
            code: "chunks_too_small" | "invalid_json" | "invalid_parameter" | "invalid_cursor" | "invalid_status" | "conflicting_fields" | "invalid_time_range" | "authentication_required" | "invalid_token" | "token_expired" | "insufficient_role" | "insufficient_scope" | "tenant_suspended" | "payload_hidden" | "not_found" | "tenant_not_found" | "method_not_allowed" | "not_acceptable" | "domain_taken" | "name_taken" | "task_key_exists" | "idempotency_in_progress" | "task_running" | "invalid_transition" | "lease_lost" | "worker_has_tasks" | "worker_in_use" | "worker_mode_mismatch" | "secrets_unreadable" | "last_owner" | "last_owner_token" | "version_mismatch" | "payload_too_large" | "body_too_large" | "batch_too_large" | "unsupported_media_type" | "validation_failed" | "unknown_field" | "invalid_cron" | "invalid_timezone" | "invalid_url" | "forbidden_address" | "idempotency_key_reused" | "invalid_domain" | "rate_limited" | "quota_exceeded" | "internal" | "store_unavailable" | "wrong_master_key" | "identity_unavailable" | "overloaded" | "interrupted" | "shutting_down";
            /** @description What is wrong with this request, where, and what is accepted. */
            detail: string;
            /** @description The id of the request. */
            instance: string;
            /** @description All faults of fields and parameters, if the problem is about some. */
            errors?: {
                /**
                 * Format: json-pointer
                 * @description The place in the body (RFC 6901).
                 */
                pointer?: string;
                /** @description Or the name of a query parameter or header field. */
                parameter?: string;
                code: string;
                detail: string;
            }[];
        };
    };
    responses: {
        /** @description `conflicting_fields`: Conflicting fields. `invalid_cursor`: Invalid cursor. `invalid_json`: The body is not valid JSON. `invalid_parameter`: Invalid parameter. `invalid_status`: Unknown status. `invalid_time_range`: Invalid time range. */
        "400.conflicting_fields.invalid_cursor.invalid_json.invalid_parameter.invalid_status.invalid_time_range": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `conflicting_fields`: Conflicting fields. `invalid_json`: The body is not valid JSON. `invalid_parameter`: Invalid parameter. */
        "400.conflicting_fields.invalid_json.invalid_parameter": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_cursor`: Invalid cursor. `invalid_parameter`: Invalid parameter. */
        "400.invalid_cursor.invalid_parameter": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_cursor`: Invalid cursor. `invalid_parameter`: Invalid parameter. `invalid_status`: Unknown status. `invalid_time_range`: Invalid time range. */
        "400.invalid_cursor.invalid_parameter.invalid_status.invalid_time_range": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_json`: The body is not valid JSON. `invalid_parameter`: Invalid parameter. */
        "400.invalid_json.invalid_parameter": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_parameter`: Invalid parameter. */
        "400.invalid_parameter": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `authentication_required`: Authentication required. `invalid_token`: Invalid token. */
        "401.authentication_required.invalid_token": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `authentication_required`: Authentication required. `invalid_token`: Invalid token. `token_expired`: Expired token. */
        "401.authentication_required.invalid_token.token_expired": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `insufficient_role`: Insufficient role. `insufficient_scope`: Insufficient scope. */
        "403.insufficient_role.insufficient_scope": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `insufficient_role`: Insufficient role. `insufficient_scope`: Insufficient scope. `payload_hidden`: Payloads are not visible to this caller. */
        "403.insufficient_role.insufficient_scope.payload_hidden": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `insufficient_role`: Insufficient role. `insufficient_scope`: Insufficient scope. `tenant_suspended`: The account is suspended. */
        "403.insufficient_role.insufficient_scope.tenant_suspended": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_found`: Not found. `tenant_not_found`: Unknown tenant. */
        "404.not_found.tenant_not_found": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `not_acceptable`: Not acceptable. */
        "406.not_acceptable": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `domain_taken`: The domain is taken. `idempotency_in_progress`: A request with this idempotency key is in progress. */
        "409.domain_taken.idempotency_in_progress": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. */
        "409.idempotency_in_progress": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `invalid_transition`: The status does not allow the change. */
        "409.idempotency_in_progress.invalid_transition": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `invalid_transition`: The status does not allow the change. `task_key_exists`: An open task has this key. */
        "409.idempotency_in_progress.invalid_transition.task_key_exists": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `lease_lost`: The lease is no longer active. */
        "409.idempotency_in_progress.lease_lost": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `name_taken`: The name is taken. */
        "409.idempotency_in_progress.name_taken": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `secrets_unreadable`: A secret of the worker cannot be decrypted. `worker_mode_mismatch`: The mode of the worker does not allow the request. */
        "409.idempotency_in_progress.secrets_unreadable.worker_mode_mismatch": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `task_key_exists`: An open task has this key. */
        "409.idempotency_in_progress.task_key_exists": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_in_progress`: A request with this idempotency key is in progress. `worker_mode_mismatch`: The mode of the worker does not allow the request. */
        "409.idempotency_in_progress.worker_mode_mismatch": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_transition`: The status does not allow the change. */
        "409.invalid_transition": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_transition`: The status does not allow the change. `task_key_exists`: An open task has this key. `task_running`: The task is running. */
        "409.invalid_transition.task_key_exists.task_running": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `last_owner`: The last owner cannot be removed. */
        "409.last_owner": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `last_owner`: The last owner cannot be removed. `name_taken`: The name is taken. */
        "409.last_owner.name_taken": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `last_owner_token`: The last token of an owner cannot be deleted. */
        "409.last_owner_token": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `name_taken`: The name is taken. */
        "409.name_taken": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `name_taken`: The name is taken. `worker_has_tasks`: The worker has open tasks. */
        "409.name_taken.worker_has_tasks": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `task_running`: The task is running. */
        "409.task_running": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `worker_has_tasks`: The worker has open tasks. `worker_in_use`: Another worker refers to this worker. */
        "409.worker_has_tasks.worker_in_use": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `version_mismatch`: The version has changed. */
        "412.version_mismatch": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `batch_too_large`: The batch is too large. `body_too_large`: The body is too large. `payload_too_large`: The payload is too large. */
        "413.batch_too_large.body_too_large.payload_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `body_too_large`: The body is too large. */
        "413.body_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `body_too_large`: The body is too large. `payload_too_large`: The payload is too large. */
        "413.body_too_large.payload_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unsupported_media_type`: The body must be JSON. */
        "415.unsupported_media_type": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `forbidden_address`: The address is not allowed. `idempotency_key_reused`: The idempotency key was used for a different request. `invalid_url`: Invalid URL. `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.forbidden_address.idempotency_key_reused.invalid_url.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `forbidden_address`: The address is not allowed. `invalid_url`: Invalid URL. `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.forbidden_address.invalid_url.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_key_reused`: The idempotency key was used for a different request. `invalid_cron`: Invalid cron expression. `invalid_timezone`: Unknown time zone. `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.idempotency_key_reused.invalid_cron.invalid_timezone.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_key_reused`: The idempotency key was used for a different request. `invalid_domain`: Invalid domain. `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.idempotency_key_reused.invalid_domain.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `idempotency_key_reused`: The idempotency key was used for a different request. `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.idempotency_key_reused.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `invalid_cron`: Invalid cron expression. `invalid_timezone`: Unknown time zone. `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.invalid_cron.invalid_timezone.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `unknown_field`: Unknown field. `validation_failed`: Invalid field. */
        "422.unknown_field.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `validation_failed`: Invalid field. */
        "422.validation_failed": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `quota_exceeded`: Quota exceeded. `rate_limited`: Too many requests. */
        "429.quota_exceeded.rate_limited": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `rate_limited`: Too many requests. */
        "429.rate_limited": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `internal`: Internal error. */
        "500.internal": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `identity_unavailable`: The identity provider is unavailable. `interrupted`: The request was interrupted. `overloaded`: Too many waiting requests. `shutting_down`: The service is shutting down. `store_unavailable`: The task store is unavailable. */
        "503.identity_unavailable.interrupted.overloaded.shutting_down.store_unavailable": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `identity_unavailable`: The identity provider is unavailable. `interrupted`: The request was interrupted. `overloaded`: Too many waiting requests. `store_unavailable`: The task store is unavailable. */
        "503.identity_unavailable.interrupted.overloaded.store_unavailable": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `identity_unavailable`: The identity provider is unavailable. `interrupted`: The request was interrupted. `overloaded`: Too many waiting requests. `store_unavailable`: The task store is unavailable. `wrong_master_key`: The instance has a wrong master key. */
        "503.identity_unavailable.interrupted.overloaded.store_unavailable.wrong_master_key": {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The id of the request: the `X-Request-Id` of the caller if it is valid, otherwise a new one. */
        RequestId: string;
        /** @description After how many seconds the request can be repeated. */
        RetryAfter: number;
        /** @description The path of the new resource. */
        Location: string;
        /** @description The scheme of authentication, and the reason why the credentials were rejected. */
        WwwAuthenticate: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listAccounts: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of accounts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountPage"];
                };
            };
        };
    };
    createAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAccount"];
            };
        };
        responses: {
            /** @description The account, and the first token of its owner, which is shown only here. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
        };
    };
    getAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                domain: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountState"];
                };
            };
        };
    };
    deleteAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                domain: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deletion has started. `deletion` shows its progress. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountState"];
                };
            };
        };
    };
    patchAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                domain: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AccountChange"];
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountState"];
                };
            };
        };
    };
    createOwnerToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                domain: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerToken"];
                };
            };
        };
    };
    listAudit: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. Entries are kept for 90 days, at most 5000 of them. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
        };
    };
    settleLeases: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Outcomes"];
            };
        };
        responses: {
            /** @description The result of each outcome */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutcomeResults"];
                };
            };
        };
    };
    completeLease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                lease_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Completion"];
            };
        };
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    failLease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                lease_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Failure"];
            };
        };
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    heartbeatLease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                lease_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Heartbeat"];
            };
        };
        responses: {
            /** @description The new end of the lease */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeartbeatResult"];
                };
            };
        };
    };
    releaseLease: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                lease_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Release"];
            };
        };
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    getLimits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limits and their use. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Limits"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    listSchedules: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of schedules */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
        };
    };
    createSchedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description The new schedule */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    previewSchedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SchedulePreviewFields"];
            };
        };
        responses: {
            /** @description The times, without jitter */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePreview"];
                };
            };
        };
    };
    readSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    updateSchedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleChanges"];
            };
        };
        responses: {
            /** @description The schedule after the change */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    deleteSchedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patchSchedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleChanges"];
            };
        };
        responses: {
            /** @description The schedule after the change */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
        };
    };
    triggerSchedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new task */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description Name or id of a worker. */
                worker?: string;
                /** @description One status or a comma-separated list: scheduled, running, retry, paused, succeeded, failed, canceled, expired. */
                status?: string;
                /** @description Created at or after this time: a time, a date, a month, a year, Unix seconds or milliseconds, or a relative time such as -24h. */
                start?: string;
                /** @description Created before this time. A date, a month or a year is included entirely. */
                end?: string;
                /** @description Id or name of a schedule. */
                schedule?: string;
                /** @description The `key` of the task, even if it is no longer reserved. */
                key?: string;
                /** @description The exact `type` of the task. */
                type?: string;
                /** @description One of the `tags` of the task. */
                tag?: string;
                /** @description The `group` of the task. */
                group?: string;
                /** @description Part of the code or the message of `last_error`, ignoring case. */
                error?: string;
                /** @description `created_at` (default), or `run_at` to list the waiting tasks (`scheduled`, `retry`) of one `worker` by their due time. `start` and `end` then apply to the due time. */
                by?: string;
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
                /** @description `payload`: include payloads, headers and results. Requires permission to see payloads. */
                include?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
        };
    };
    createTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTask"];
            };
        };
        responses: {
            /** @description The open task that has the key */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedTask"];
                };
            };
            /** @description The new task */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedTask"];
                };
            };
        };
    };
    actOnTasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskAction"];
            };
        };
        responses: {
            /** @description The result of the action */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskActionResult"];
                };
            };
        };
    };
    createTasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTasks"];
            };
        };
        responses: {
            /** @description The result of each task */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTaskResults"];
                };
            };
        };
    };
    countTasks: {
        parameters: {
            query?: {
                /** @description Name or id of a worker; counts only its tasks. */
                worker?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The number of tasks by status */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskCounts"];
                };
            };
        };
    };
    readTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    updateTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskChanges"];
            };
        };
        responses: {
            /** @description The task after the change */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    deleteTask: {
        parameters: {
            query?: {
                /** @description `true`: cancel a running task, and delete it when it has finished. */
                force?: string;
            };
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task is running: it was asked to stop, and is deleted when it has finished */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            /** @description Deleted */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patchTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskChanges"];
            };
        };
        responses: {
            /** @description The task after the change */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    cancelTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    readTaskHistory: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
        };
    };
    pauseTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    resumeTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    retryTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    runTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task after the change, without payload, headers and result */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description `1h` in minutes, `24h` or `7d` in hours. The default is `1h`. */
                range?: string;
                /** @description Name or id of a worker: only the figures of its tasks. */
                worker?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The usage. It is written every few seconds and may lack what was counted in the last seconds before a crash. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of users. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description The user. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserChange"];
            };
        };
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patchUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserChange"];
            };
        };
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tokens. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPage"];
                };
            };
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description The token. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeToken"];
                };
            };
        };
    };
    deleteToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listWorkers: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
                /** @description `health`: include the number of tasks of each worker by status, and a curve of those that ended. */
                include?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of workers */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerPage"];
                };
            };
        };
    };
    createWorker: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWorker"];
            };
        };
        responses: {
            /** @description The new worker */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
        };
    };
    readWorker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The worker */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
        };
    };
    updateWorker: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkerChanges"];
            };
        };
        responses: {
            /** @description The worker after the change */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
        };
    };
    deleteWorker: {
        parameters: {
            query?: {
                /** @description `true`: cancel the open tasks of the worker. */
                cancel_tasks?: string;
            };
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. Finished tasks of the worker are kept. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patchWorker: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the expected version, a list of ETags, or `*`. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkerChanges"];
            };
        };
        responses: {
            /** @description The worker after the change */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worker"];
                };
            };
        };
    };
    leaseTasks: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LeaseRequest"];
            };
        };
        responses: {
            /** @description Leased tasks with their payloads; empty if no task became due in time */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Leases"];
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                /** @description Maximum number of items on the page: 1 to 200. Default: 50. A page can have fewer items if it reaches 1 MiB or if a filter is used. */
                limit?: string;
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Order of the list: `asc` or `desc`. */
                order?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of secrets */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretPage"];
                };
            };
        };
    };
    createSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewSecret"];
            };
        };
        responses: {
            /** @description The new secret */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedSecret"];
                };
            };
        };
    };
    deleteSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                sid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    testWorker: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key gets the response to the first one, for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WorkerTestFields"];
            };
        };
        responses: {
            /** @description The request and the response */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerTest"];
                };
            };
        };
    };
    deliverTask: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the task. It is the same in every attempt, so receivers can recognize repeated deliveries.
                 * @example tsk_01KJMDEB80YE9B22TCBGDJ8VM9
                 */
                "webhook-id": string;
                /**
                 * @description The time of this attempt, in seconds since the Unix epoch. Reject deliveries that are older than a few minutes.
                 * @example 1772359200
                 */
                "webhook-timestamp": string;
                /**
                 * @description One signature for each signing secret of the worker, newest first, separated by spaces: `v1,` and the base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body` (Standard Webhooks). Missing if the worker has no signing secret.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature"?: string;
                /**
                 * @description The number of this attempt, from 1. Deliveries that were postponed do not count.
                 * @example 1
                 */
                "task-attempt": string;
                /**
                 * @description The number of attempts after which the task fails.
                 * @example 12
                 */
                "task-max-attempts": string;
                /**
                 * @description The name of the worker.
                 * @example mailer
                 */
                "task-worker": string;
                /**
                 * @description The `type` of the task, if it has one.
                 * @example email.welcome
                 */
                "task-type"?: string;
                /**
                 * @description The nominal time of the run, for tasks of a schedule; otherwise `run_at` of the task.
                 * @example 2026-03-01T10:00:00.000Z
                 */
                "task-scheduled-for": string;
                /** @description Only in a test of the worker (`POST /v1/workers/{id}/test`). The `webhook-id` then belongs to no task. */
                "task-test"?: "true";
                /**
                 * @description The trace context of the call that created the task, or of this attempt if the service has tracing enabled (W3C Trace Context).
                 * @example 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
                 */
                traceparent?: string;
                /**
                 * @description Further trace context, only together with `traceparent`.
                 * @example vendor=opaque
                 */
                tracestate?: string;
                /**
                 * @description The name and version of the service, unless the worker or the task sets another one.
                 * @example sluice/0.2.0
                 */
                "user-agent": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The payload, unchanged. A task without a payload is sent without a body and without `Content-Type`. */
        requestBody?: {
            content: {
                "application/json": unknown;
                "*/*": unknown;
            };
        };
        responses: {
            /** @description The receiver is gone: the task has failed without further attempts, and the worker is paused. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description With `Retry-After`: the task is postponed by this time, which does not count as an attempt, and until then nothing else is sent to this worker. Without it: a failed attempt, with a delay of at least a minute. */
            429: {
                headers: {
                    /**
                     * @description Seconds, or an HTTP date; at most a day.
                     * @example 30
                     */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The task has failed without further attempts. The header `task-no-retry: true` with any status, and the statuses in `no_retry_on` of the worker, have the same effect. */
            489: {
                headers: {
                    /** @description With any status: the task fails without further attempts. */
                    "task-no-retry"?: "true";
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description With `Retry-After`: as 429. Without it: a failed attempt. */
            503: {
                headers: {
                    /**
                     * @description Seconds, or an HTTP date; at most a day.
                     * @example 30
                     */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The task has succeeded. A JSON body of at most 16 KiB is kept as its `result`. Answer only when the work is done, or stored. */
            "2XX": {
                headers: {
                    /** @description With any status: the task fails without further attempts. */
                    "task-no-retry"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message_id": "m-4711"
                     *     }
                     */
                    "application/json": unknown;
                };
            };
            /** @description Any other status, including redirects, which are not followed; no connection; no complete answer within the `timeout` of the task: a failed attempt. The task is retried according to its `retry`, and fails after the last attempt. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deliverCallback: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the task. It is the same in every attempt, so receivers can recognize repeated deliveries.
                 * @example tsk_01KJMDEB80YE9B22TCBGDJ8VM9
                 */
                "webhook-id": string;
                /**
                 * @description The time of this attempt, in seconds since the Unix epoch. Reject deliveries that are older than a few minutes.
                 * @example 1772359200
                 */
                "webhook-timestamp": string;
                /**
                 * @description One signature for each signing secret of the worker, newest first, separated by spaces: `v1,` and the base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body` (Standard Webhooks). Missing if the worker has no signing secret.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature"?: string;
                /**
                 * @description The number of this attempt, from 1. Deliveries that were postponed do not count.
                 * @example 1
                 */
                "task-attempt": string;
                /**
                 * @description The number of attempts after which the task fails.
                 * @example 12
                 */
                "task-max-attempts": string;
                /**
                 * @description The name of the worker.
                 * @example mailer
                 */
                "task-worker": string;
                /** @description The `type` of the task, if it has one. */
                "task-type": "task.succeeded" | "task.failed" | "task.canceled" | "task.expired";
                /**
                 * @description The nominal time of the run, for tasks of a schedule; otherwise `run_at` of the task.
                 * @example 2026-03-01T10:00:00.000Z
                 */
                "task-scheduled-for": string;
                /** @description Only in a test of the worker (`POST /v1/workers/{id}/test`). The `webhook-id` then belongs to no task. */
                "task-test"?: "true";
                /**
                 * @description The trace context of the call that created the task, or of this attempt if the service has tracing enabled (W3C Trace Context).
                 * @example 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
                 */
                traceparent?: string;
                /**
                 * @description Further trace context, only together with `traceparent`.
                 * @example vendor=opaque
                 */
                tracestate?: string;
                /**
                 * @description The name and version of the service, unless the worker or the task sets another one.
                 * @example sluice/0.2.0
                 */
                "user-agent": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CallbackPayload"];
            };
        };
        responses: {
            /** @description The receiver is gone: the task has failed without further attempts, and the worker is paused. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description With `Retry-After`: the task is postponed by this time, which does not count as an attempt, and until then nothing else is sent to this worker. Without it: a failed attempt, with a delay of at least a minute. */
            429: {
                headers: {
                    /**
                     * @description Seconds, or an HTTP date; at most a day.
                     * @example 30
                     */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The task has failed without further attempts. The header `task-no-retry: true` with any status, and the statuses in `no_retry_on` of the worker, have the same effect. */
            489: {
                headers: {
                    /** @description With any status: the task fails without further attempts. */
                    "task-no-retry"?: "true";
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description With `Retry-After`: as 429. Without it: a failed attempt. */
            503: {
                headers: {
                    /**
                     * @description Seconds, or an HTTP date; at most a day.
                     * @example 30
                     */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The task has succeeded. A JSON body of at most 16 KiB is kept as its `result`. Answer only when the work is done, or stored. */
            "2XX": {
                headers: {
                    /** @description With any status: the task fails without further attempts. */
                    "task-no-retry"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "message_id": "m-4711"
                     *     }
                     */
                    "application/json": unknown;
                };
            };
            /** @description Any other status, including redirects, which are not followed; no connection; no complete answer within the `timeout` of the task: a failed attempt. The task is retried according to its `retry`, and fails after the last attempt. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
