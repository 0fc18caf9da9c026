import type { DatabaseSync } from 'node:sqlite';
import type { Fault } from '../../../../base/fault.ts';
import { StoreFault, type TroubleName } from '../../trouble.ts';

/** `PRAGMA application_id` of the files of this program: "SLTK". */
const APPLICATION_ID = 0x534c544b;

const TASK_COUNTS = Array.from({ length: 8 }, (_, status) => `n${status} INTEGER NOT NULL DEFAULT 0`).join(
  ', ',
);

/**
 * Tenants and workers have numbers, because in an index a number takes two bytes and an id thirty. The numbers of a deleted
 * tenant are reused (see `numbering`).
 *
 * - `n0`…`n7`: the number of tasks in each status
 * - `tokens`, `bucket_at`: the bucket of starts and when it was last refilled; null: full
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
 * Large values are in a separate table, so that a change of the status does not write them again. `status` is a number of
 * `codes.ts`. `lease` is the lease of the running attempt, or else of the last one, with its end in `lease_event`.
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

/** Due tasks of all workers, for statistics. */
const DUE_OF_ALL = `
CREATE INDEX task_due_at ON task (due_at, status) WHERE status IN (0, 2) AND due_at IS NOT NULL;
`;

/** All tasks with a key, of any worker. `task_key` contains only holders. */
const TASKS_OF_KEY = `
CREATE INDEX task_of_key ON task (tenant, key, id) WHERE key IS NOT NULL;
`;

/** The time of the store: one row, written every few seconds. */
const CLOCK = `
CREATE TABLE clock (no INTEGER PRIMARY KEY, at INTEGER NOT NULL);
INSERT INTO clock (no, at) VALUES (1, 0);
`;

/**
 * Waiting tasks with a group have separate indexes. `task_group` has a row for each group of a worker with running or
 * waiting tasks.
 *
 * - `next_at`: when a claim must read the group; never later than the first time at which it can start a task
 * - `full`: the limit at which the group was found with a due task. `next_at` is then null until a task of the group ends
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

/** One row: how often rows of tenants or workers were deleted. Connections clear their cache of numbers when it changes. */
const NUMBERING = `
CREATE TABLE numbering (no INTEGER PRIMARY KEY, freed INTEGER NOT NULL);
INSERT INTO numbering (no, freed) VALUES (1, 0);
`;

/** The callback at the end of a task: the text of `onFinishText`. */
const ON_FINISH = `
ALTER TABLE task ADD COLUMN on_finish TEXT;
`;

/** Due documents of one tenant, for the shares of tenants if many documents are due. */
const DUE_OF_TENANTS = `
CREATE INDEX doc_tenant_due ON doc (tenant, due_at) WHERE due_at IS NOT NULL;
`;

/**
 * `began_at`: the start of the running attempt, or else of the last one. Rows of `usage` have the figures of a tenant
 * (worker 0) or of a worker in one interval, as a JSON list of pairs. `span` is the length of the interval in milliseconds.
 */
const USAGE = `
ALTER TABLE task ADD COLUMN began_at INTEGER;
CREATE TABLE usage (
  tenant INTEGER NOT NULL, span INTEGER NOT NULL, at INTEGER NOT NULL, worker INTEGER NOT NULL, figures TEXT NOT NULL,
  PRIMARY KEY (tenant, span, at, worker)
) WITHOUT ROWID;
`;

/** The statements at index n migrate layout n to layout n + 1. Released migrations never change. */
export const MIGRATIONS: readonly string[] = [
  NUMBERED + TASKS + DOCUMENTS,
  DUE_OF_ALL,
  TASKS_OF_KEY,
  CLOCK,
  GROUPS,
  NUMBERING,
  ON_FINISH,
  DUE_OF_TENANTS,
  USAGE,
];

/**
 * Migrates the layout of the file. Each step is a separate transaction and checks the layout again when it has the write
 * lock, because several processes can start at the same time.
 *
 * @throws Fault `store_failed` if the file belongs to another program or to a newer version of this one
 */
export function migrate(db: DatabaseSync, path: string, migrations: readonly string[] = MIGRATIONS): void {
  for (;;) {
    const layout = layoutOf(db, path, migrations.length);
    if (layout === migrations.length) return;
    db.exec('BEGIN IMMEDIATE');
    try {
      if (layoutOf(db, path, migrations.length) === layout) {
        db.exec(migrations[layout]);
        db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${layout + 1}`);
      }
      db.exec('COMMIT');
    } catch (failure) {
      db.exec('ROLLBACK');
      throw failure;
    }
  }
}

/**
 * Checks that the file belongs to this program. Call it before the first write.
 * @throws Fault `store_failed` as {@link migrate}
 */
export function refuseForeign(db: DatabaseSync, path: string): void {
  layoutOf(db, path, MIGRATIONS.length);
}

/** The number of the layout, 0 for an empty file. */
function layoutOf(db: DatabaseSync, path: string, newest: number): number {
  const layout = pragma(db, 'user_version');
  const application = pragma(db, 'application_id');
  if (application !== APPLICATION_ID) {
    const tables = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number };
    if (application === 0 && layout === 0 && tables.n === 0) return 0;
    throw refused(path, 'it is the database of another program; use another file');
  }
  if (layout > newest) {
    const text = `its layout is ${layout}, this version knows layouts up to ${newest}; run the version that wrote it`;
    throw refused(path, text);
  }
  return layout;
}

export function pragma(db: DatabaseSync, name: string): number {
  const row = db.prepare(`PRAGMA ${name}`).get() as Record<string, number>;
  return Object.values(row)[0];
}

/** The fault of a file that is not opened. */
export function refused(path: string, reason: string, trouble: TroubleName = 'file_failed'): Fault {
  return new StoreFault(trouble, `task store ${path} is not opened: ${reason}`);
}
