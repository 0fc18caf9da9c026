import { STATUS } from '../../codes.ts';

const COUNTS = Array.from({ length: 8 }, (_, status) => `n${status} int NOT NULL DEFAULT 0`).join(', ');

/** Rows that change often stay on their page, so that no index has to be changed with them. */
const OFTEN_CHANGED =
  'WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)';

/**
 * Tenants and workers have numbers, because in an index a number takes four bytes and an id thirty. Numbers are never
 * reused. Texts compare by their bytes, whatever the collation of the database is.
 *
 * - `tokens`, `bucket_at`: the bucket of starts and when it was last refilled; null: full
 * - `tally`: the number of tasks by status, of a worker or (worker 0) of a tenant, as the sum of several rows. A connection
 *   changes only the row of its slot, so that it rarely waits for others
 * - `wake`: hints. A worker may have several: the earliest one counts
 */
const NUMBERED = `
CREATE TABLE sluice.tenant (
  no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
  known boolean NOT NULL DEFAULT false, tokens float8, bucket_at bigint
) ${OFTEN_CHANGED};
CREATE INDEX tenant_known ON sluice.tenant (name) WHERE known;
CREATE TABLE sluice.worker (
  no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int NOT NULL, id text COLLATE "C" NOT NULL,
  tokens float8, bucket_at bigint, throttled_until bigint, UNIQUE (tenant, id)
) ${OFTEN_CHANGED};
CREATE TABLE sluice.tally (
  tenant int NOT NULL, worker int NOT NULL, slot smallint NOT NULL, ${COUNTS}, PRIMARY KEY (tenant, worker, slot)
) ${OFTEN_CHANGED};
CREATE TABLE sluice.wake (tenant int NOT NULL, worker int NOT NULL, at bigint NOT NULL)
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX wake_worker ON sluice.wake (worker, at);
CREATE INDEX wake_at ON sluice.wake (at);
`;

/** The conditions of the indexes of waiting tasks. */
const WAITING = 'status IN (0, 2) AND due_at IS NOT NULL';

const numbers = (codes: readonly number[]): string => codes.join(', ');
const OPEN = numbers([STATUS.scheduled, STATUS.running, STATUS.retry, STATUS.paused]);
const OVER = numbers([STATUS.succeeded, STATUS.failed, STATUS.canceled, STATUS.expired]);

/**
 * Tasks that have ended move to a table of their own, so that the table of open tasks and its indexes stay small. If
 * another transaction waits for a task that moves, it fails and is repeated.
 *
 * Indexes that begin with the worker are written differently, and so are the statements that are to use them: otherwise
 * PostgreSQL would confuse them if it has not counted what they contain.
 *
 * Large values are in a separate table, so that a change of the status does not write them again. `status` is a number of
 * `codes.ts`. `lease` is the lease of the running attempt, or else of the last one, with its end in `lease_event`.
 */
const TASKS = `
CREATE SEQUENCE sluice.task_seq CACHE 1;
CREATE TABLE sluice.task (
  seq bigint NOT NULL, tenant int NOT NULL, id text COLLATE "C" NOT NULL, worker int NOT NULL,
  status smallint NOT NULL, band smallint NOT NULL, due_at bigint, run_at bigint NOT NULL, expires_at bigint,
  attempt int NOT NULL, deferrals int NOT NULL, events int NOT NULL, version int NOT NULL,
  created_at bigint NOT NULL, updated_at bigint NOT NULL, started_at bigint, finished_at bigint, cancel_at bigint,
  lease text COLLATE "C", lease_until bigint, lease_cap bigint, lease_event smallint, began_at bigint,
  key text COLLATE "C", key_ttl bigint NOT NULL, grp text COLLATE "C", schedule text COLLATE "C", scheduled_for bigint,
  held_by text COLLATE "C", wake boolean NOT NULL, timeout bigint NOT NULL, max_attempts int NOT NULL,
  worker_id text COLLATE "C" NOT NULL, worker_name text NOT NULL, retry text NOT NULL, type text, tags text,
  metadata text, on_finish text, created_by text NOT NULL, last_error text
) PARTITION BY LIST (status);
CREATE TABLE sluice.task_open PARTITION OF sluice.task FOR VALUES IN (${OPEN})
  WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
CREATE TABLE sluice.task_over PARTITION OF sluice.task FOR VALUES IN (${OVER});
ALTER TABLE sluice.task_open ADD PRIMARY KEY (seq);
ALTER TABLE sluice.task_over ADD PRIMARY KEY (seq);
CREATE UNIQUE INDEX open_id ON sluice.task_open (tenant, id);
CREATE UNIQUE INDEX over_id ON sluice.task_over (tenant, id);
CREATE INDEX task_status ON sluice.task (tenant, status, id);
CREATE INDEX task_worker ON sluice.task ((0 + worker), status, id);
CREATE INDEX task_schedule ON sluice.task (tenant, schedule, status, id, worker) WHERE schedule IS NOT NULL;
CREATE INDEX task_of_key ON sluice.task (tenant, key, id) WHERE key IS NOT NULL;
CREATE INDEX task_lease ON sluice.task (lease) WHERE lease IS NOT NULL;
CREATE INDEX open_due ON sluice.task_open (worker, band, due_at, id) WHERE ${WAITING} AND grp IS NULL;
CREATE INDEX open_due_at ON sluice.task_open (due_at) WHERE ${WAITING};
CREATE INDEX open_group_due ON sluice.task_open (worker, grp, band, due_at, id) WHERE ${WAITING} AND grp IS NOT NULL;
CREATE INDEX open_group_line ON sluice.task_open ((worker + 0), grp, run_at, id) WHERE ${WAITING} AND grp IS NOT NULL;
CREATE INDEX open_group_waiting ON sluice.task_open ((worker - 0), due_at, id) WHERE ${WAITING} AND grp IS NOT NULL;
CREATE INDEX open_lease_end ON sluice.task_open (lease_until) WHERE status = ${STATUS.running};
CREATE INDEX open_expiry ON sluice.task_open (expires_at) WHERE status IN (0, 2) AND expires_at IS NOT NULL;
CREATE INDEX open_held ON sluice.task_open (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX over_end ON sluice.task_over (tenant, status, finished_at);
CREATE TABLE sluice.body (seq bigint PRIMARY KEY, payload text, headers text, result text);
CREATE TABLE sluice.event (
  seq bigint NOT NULL, n int NOT NULL, at bigint NOT NULL, event smallint NOT NULL, came_from smallint,
  led_to smallint NOT NULL, attempt int NOT NULL, actor text NOT NULL, lease text, next_at bigint, more text,
  PRIMARY KEY (seq, n)
);
`;

/**
 * - `task_key`: the holder of each key of a worker. A free key has a `free_at` that has passed
 * - `task_group`: a row for each group of a worker with running or waiting tasks. `next_at`: when a claim must read the
 *   group; never later than the first time at which it can start a task. `full`: the limit at which the group was found with
 *   a due task; `next_at` is then null until a task of the group ends
 */
const KEYS_AND_GROUPS = `
CREATE TABLE sluice.task_key (
  worker int NOT NULL, key text COLLATE "C" NOT NULL, tenant int NOT NULL, seq bigint NOT NULL, free_at bigint,
  PRIMARY KEY (worker, key)
);
CREATE INDEX task_key_end ON sluice.task_key (tenant, free_at) WHERE free_at IS NOT NULL;
CREATE TABLE sluice.task_group (
  worker int NOT NULL, name text COLLATE "C" NOT NULL, running int NOT NULL, next_at bigint, "full" int,
  PRIMARY KEY (worker, name)
);
CREATE INDEX task_group_next ON sluice.task_group (worker, next_at, name) WHERE next_at IS NOT NULL;
CREATE INDEX task_group_full ON sluice.task_group (worker, "full", name) WHERE "full" IS NOT NULL;
`;

const DOCUMENTS = `
CREATE TABLE sluice.doc (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant int NOT NULL, kind smallint NOT NULL,
  id text COLLATE "C" NOT NULL, parent text COLLATE "C" NOT NULL, version int NOT NULL, due_at bigint, body text NOT NULL
);
CREATE UNIQUE INDEX doc_id ON sluice.doc (tenant, kind, id);
CREATE INDEX doc_parent ON sluice.doc (tenant, kind, parent, id);
CREATE INDEX doc_due ON sluice.doc (due_at, no) WHERE due_at IS NOT NULL;
CREATE INDEX doc_tenant_due ON sluice.doc (tenant, due_at, no) WHERE due_at IS NOT NULL;
CREATE TABLE sluice.doc_name (
  tenant int NOT NULL, name text COLLATE "C" NOT NULL, doc bigint NOT NULL, PRIMARY KEY (tenant, name)
);
CREATE INDEX doc_name_of ON sluice.doc_name (doc);
CREATE TABLE sluice.idem (
  tenant int NOT NULL, scope text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, fingerprint text NOT NULL,
  until bigint NOT NULL, note text NOT NULL, results text, PRIMARY KEY (tenant, scope, key)
);
CREATE INDEX idem_end ON sluice.idem (tenant, until);
`;

/** The figures of a tenant (worker 0) or of a worker in one interval; zeros at the end are left out. */
const USAGE = `
CREATE TABLE sluice.usage (
  tenant int NOT NULL, span int NOT NULL, at bigint NOT NULL, worker int NOT NULL, figures bigint[] NOT NULL,
  PRIMARY KEY (tenant, span, at, worker)
);
`;

export const TABLES = NUMBERED + TASKS + KEYS_AND_GROUPS + DOCUMENTS + USAGE;
