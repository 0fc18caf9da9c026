import { STATUS_CODES } from '../../codes.ts';

/** Connections share this many rows of each tally. */
const SLOTS = 16;

const COLUMNS = STATUS_CODES.map((_, status) => `n${status}`);
const SUMS = COLUMNS.map((_, status) => `coalesce(sum(x.change) FILTER (WHERE x.status = ${status}), 0)`);
const ADDED = COLUMNS.map(column => `${column} = t.${column} + excluded.${column}`);

/** Functions that count tasks by status. Only one row of a tally changes, that of the connection. */
export const TALLIES = `
CREATE FUNCTION fn.tally(p_tenant int, p_workers int[], p_statuses int[], p_changes int[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sluice.tally AS t (tenant, worker, slot, ${COLUMNS.join(', ')})
  SELECT p_tenant, coalesce(x.worker, 0), pg_backend_pid() % ${SLOTS}, ${SUMS.join(', ')}
  FROM unnest(p_workers, p_statuses, p_changes) AS x (worker, status, change)
  GROUP BY GROUPING SETS ((x.worker), ()) ORDER BY 2
  ON CONFLICT (tenant, worker, slot) DO UPDATE SET ${ADDED.join(', ')};
END $$;

CREATE FUNCTION fn.count_running(p_tenant int, p_worker int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(sum(n1), 0) FROM sluice.tally WHERE tenant = p_tenant AND worker = p_worker);
END $$;

CREATE FUNCTION fn.count_open(p_tenant int, p_worker int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT coalesce(sum(n0 + n1 + n2 + n3), 0) FROM sluice.tally WHERE tenant = p_tenant AND worker = p_worker
  );
END $$;
`;
