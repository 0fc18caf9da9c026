import { FINAL_STATUSES } from '../../../../model/task.ts';
import { DOCUMENT, STATUS } from '../../../codes.ts';
import { MAX_CALLBACK_RESULT } from '../../../documents.ts';

const WORDS = FINAL_STATUSES.map(status => `'${status}'`).join(', ');

/** A function that writes the document of a callback, in the form of `callbackDocument` in `documents.ts`. */
export const CALLBACKS = `
CREATE FUNCTION fn.write_callback(t sluice.task) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_final int := t.status - ${STATUS.succeeded};
  v_space int := position(' ' IN t.on_finish);
  v_result text;
  v_headers text;
  v_trace text;
  v_omitted boolean;
BEGIN
  IF left(t.on_finish, v_space - 1)::int & (1 << v_final) = 0 THEN RETURN; END IF;
  SELECT result, headers INTO v_result, v_headers FROM sluice.body WHERE seq = t.seq;
  v_omitted := coalesce(octet_length(v_result) > ${MAX_CALLBACK_RESULT}, false);
  IF v_omitted THEN v_result := NULL; END IF;
  IF position('":trace":' IN v_headers) > 0 THEN v_trace := v_headers::json ->> ':trace'; END IF;
  INSERT INTO sluice.doc (tenant, kind, id, parent, version, due_at, body) VALUES (
    t.tenant, ${DOCUMENT.callback}, t.id || '.' || t.version, substr(t.on_finish, v_space + 1), 1, t.finished_at,
    '{"taskId":' || to_json(t.id) || ',"workerId":' || to_json(t.worker_id) || ',"worker":' || to_json(t.worker_name)
    || ',"type":' || coalesce(to_json(t.type)::text, 'null') || ',"key":' || coalesce(to_json(t.key)::text, 'null')
    || ',"tags":' || coalesce(t.tags, '[]') || ',"status":"' || (ARRAY[${WORDS}])[v_final + 1]
    || '","attempt":' || t.attempt || ',"lastError":' || coalesce(t.last_error, 'null')
    || ',"result":' || coalesce(to_json(v_result)::text, 'null') || ',"resultOmitted":' || v_omitted::text
    || ',"finishedAt":' || t.finished_at || coalesce(',"trace":' || to_json(v_trace), '') || '}'
  );
END $$;
`;
