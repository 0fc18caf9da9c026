/** Stands in the head of each file of ours (`PRAGMA application_id`): "SLTK". */
export const APPLICATION_ID = 0x534c544b;

const TASK_COUNTS = Array.from({ length: 8 }, (_, status) => `n${status} INTEGER NOT NULL DEFAULT 0`).join(
  ', ',
);

/**
 * Tenants and workers have numbers, because a number in an index takes two bytes and an id takes thirty. The numbers of
 * a deleted tenant are used again (see `numbering`).
 *
 * - `n0`…`n7`: how many tasks there are of each status, kept in the step that changes it
 * - `tokens`, `bucket_at`: the bucket of starts, and when it was filled last; null: full
 */
const NUMBERED = `
CREATE TABLE tenant (
  no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, known INTEGER NOT NULL DEFAULT 0,
  tokens REAL, bucket_at INTEGER, ${TASK_COUNTS}
);
CREATE INDEX tenant_known ON tenant (name) WHERE known = 1;
CREATE TABLE worker (
  no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id TEXT NOT NULL,
  tokens REAL, bucket_at INTEGER, throttled_until INTEGER, wake_at INTEGER, ${TASK_COUNTS},
  UNIQUE (tenant, id)
);
CREATE INDEX worker_wake ON worker (wake_at) WHERE wake_at IS NOT NULL;
`;

/**
 * What is large is kept apart, so that a change of status need not write it again. `status` is a number of `codes.ts`.
 * `lease` is that of the running attempt, or of the one that ended last, with what ended it in `lease_event`.
 */
const TASKS = `
CREATE TABLE task (
  seq INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id TEXT NOT NULL, worker INTEGER NOT NULL,
  status INTEGER NOT NULL, band INTEGER NOT NULL, due_at INTEGER, run_at INTEGER NOT NULL, expires_at INTEGER,
  attempt INTEGER NOT NULL, deferrals INTEGER NOT NULL, events INTEGER NOT NULL, version INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER,
  cancel_at INTEGER, lease TEXT, lease_until INTEGER, lease_cap INTEGER, lease_push INTEGER, lease_event INTEGER,
  key TEXT, key_ttl INTEGER NOT NULL, schedule TEXT, scheduled_for INTEGER, held_by TEXT, wake INTEGER NOT NULL,
  timeout INTEGER NOT NULL, type TEXT, worker_name TEXT NOT NULL, retry TEXT NOT NULL, tags TEXT, metadata TEXT,
  created_by TEXT NOT NULL, last_error TEXT
);
CREATE UNIQUE INDEX task_id ON task (tenant, id);
CREATE INDEX task_status ON task (tenant, status, id);
CREATE INDEX task_worker ON task (worker, status, id);
CREATE INDEX task_schedule ON task (tenant, schedule, status, id, worker) WHERE schedule IS NOT NULL;
CREATE INDEX task_due ON task (worker, band, due_at, id, expires_at, status) WHERE status IN (0, 2) AND due_at IS NOT NULL;
CREATE INDEX task_lease_end ON task (lease_until) WHERE status = 1;
CREATE INDEX task_lease ON task (lease) WHERE lease IS NOT NULL;
CREATE INDEX task_expiry ON task (expires_at) WHERE status IN (0, 2) AND expires_at IS NOT NULL;
CREATE INDEX task_end ON task (tenant, status, finished_at) WHERE status >= 4;
CREATE INDEX task_held ON task (tenant, held_by) WHERE held_by IS NOT NULL;

CREATE TABLE body (seq INTEGER PRIMARY KEY, payload TEXT, headers TEXT, result TEXT);

CREATE TABLE event (
  seq INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, event INTEGER NOT NULL,
  came_from INTEGER, led_to INTEGER NOT NULL, attempt INTEGER NOT NULL, actor TEXT NOT NULL,
  lease TEXT, next_at INTEGER, more TEXT,
  PRIMARY KEY (seq, n)
) WITHOUT ROWID;

CREATE TABLE task_key (
  worker INTEGER NOT NULL, key TEXT NOT NULL, tenant INTEGER NOT NULL, seq INTEGER NOT NULL, free_at INTEGER,
  PRIMARY KEY (worker, key)
) WITHOUT ROWID;
CREATE INDEX task_key_end ON task_key (tenant, free_at) WHERE free_at IS NOT NULL;
`;

const DOCUMENTS = `
CREATE TABLE doc (
  no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, kind INTEGER NOT NULL, id TEXT NOT NULL,
  parent TEXT NOT NULL, version INTEGER NOT NULL, due_at INTEGER, body TEXT NOT NULL
);
CREATE UNIQUE INDEX doc_id ON doc (tenant, kind, id);
CREATE INDEX doc_parent ON doc (tenant, kind, parent, id);
CREATE INDEX doc_due ON doc (due_at) WHERE due_at IS NOT NULL;
CREATE TABLE doc_name (
  tenant INTEGER NOT NULL, name TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX doc_name_of ON doc_name (doc);

CREATE TABLE idem (
  tenant INTEGER NOT NULL, scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
  until INTEGER NOT NULL, note TEXT NOT NULL, results TEXT, PRIMARY KEY (tenant, scope, key)
);
CREATE INDEX idem_end ON idem (tenant, until);
`;

/** Of all workers together, for the statistics. */
const DUE_OF_ALL = `
CREATE INDEX task_due_at ON task (due_at, status) WHERE status IN (0, 2) AND due_at IS NOT NULL;
`;

/** All tasks of a key, whatever worker they are of; `task_key` knows only those that hold one. */
const TASKS_OF_KEY = `
CREATE INDEX task_of_key ON task (tenant, key, id) WHERE key IS NOT NULL;
`;

/** The latest time of the store: one row, written every few seconds. */
const CLOCK = `
CREATE TABLE clock (no INTEGER PRIMARY KEY, at INTEGER NOT NULL);
INSERT INTO clock (no, at) VALUES (1, 0);
`;

/**
 * Tasks with a group wait in indexes of their own. `task_group` has a row for each group of a worker in which something
 * runs or waits.
 *
 * - `next_at`: when a claim is to look at the group; never later than it has something to start
 * - `full`: the limit that the group was found at with a due task. `next_at` is null then, until a task of it ends
 */
const GROUPS = `
ALTER TABLE task ADD COLUMN grp TEXT;
DROP INDEX task_due;
CREATE INDEX task_due ON task (worker, band, due_at, id, expires_at, status, grp)
  WHERE status IN (0, 2) AND due_at IS NOT NULL AND grp IS NULL;
CREATE INDEX task_group_due ON task (worker, grp, band, due_at, id, expires_at, status)
  WHERE status IN (0, 2) AND due_at IS NOT NULL AND grp IS NOT NULL;
CREATE INDEX task_group_line ON task (worker, grp, run_at, id, due_at, expires_at, status, band)
  WHERE status IN (0, 2) AND due_at IS NOT NULL AND grp IS NOT NULL;
CREATE INDEX task_group_waiting ON task (worker, due_at, id, expires_at, status)
  WHERE status IN (0, 2) AND due_at IS NOT NULL AND grp IS NOT NULL;
CREATE TABLE task_group (
  worker INTEGER NOT NULL, name TEXT NOT NULL, running INTEGER NOT NULL, next_at INTEGER, full INTEGER,
  PRIMARY KEY (worker, name)
) WITHOUT ROWID;
CREATE INDEX task_group_next ON task_group (worker, next_at, name, running) WHERE next_at IS NOT NULL;
CREATE INDEX task_group_full ON task_group (worker, full, name, running) WHERE full IS NOT NULL;
`;

/** One row: how often rows of tenants or workers were removed, which connections that keep numbers have to know. */
const NUMBERING = `
CREATE TABLE numbering (no INTEGER PRIMARY KEY, freed INTEGER NOT NULL);
INSERT INTO numbering (no, freed) VALUES (1, 0);
`;

/** Who is told of the end of a task: the text of `onFinishText`. */
const ON_FINISH = `
ALTER TABLE task ADD COLUMN on_finish TEXT;
`;

/** Due documents of one tenant: for the shares of tenants when many are due. */
const DUE_OF_TENANTS = `
CREATE INDEX doc_tenant_due ON doc (tenant, due_at) WHERE due_at IS NOT NULL;
`;

/** Layouts: the statements at place n lead from layout n to layout n + 1. What was released once does not change. */
export const MIGRATIONS: readonly string[] = [
  NUMBERED + TASKS + DOCUMENTS,
  DUE_OF_ALL,
  TASKS_OF_KEY,
  CLOCK,
  GROUPS,
  NUMBERING,
  ON_FINISH,
  DUE_OF_TENANTS,
];
