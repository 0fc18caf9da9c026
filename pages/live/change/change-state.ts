import { useState } from 'preact/hooks';
import { ApiError } from '../../service/call.ts';
import { type ChangeFaults, faultsOf, NO_FAULTS } from '../../service/change-faults.ts';
import { callApi } from '../api.ts';
import { useToken } from './token.ts';

interface ChangeCall {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`. */
  readonly path: string;
  readonly body?: unknown;
}

/** A change of the operator: the token that it needs, its progress, and its result. */
export interface Change<Answer> {
  readonly token: string;
  readonly setToken: (token: string) => void;
  readonly isBusy: boolean;
  readonly faults: ChangeFaults;
  readonly setFaults: (faults: ChangeFaults) => void;
  /** The answer to the last change that was made; null before. */
  readonly answer: Answer | null;
  /** Makes the change. Resolves with true if it was made. */
  readonly make: (call: ChangeCall) => Promise<boolean>;
}

/** The state of a change from the form to its result. */
export function useChange<Answer>(): Change<Answer> {
  const [token, setToken] = useToken();
  const [isBusy, setBusy] = useState(false);
  const [faults, setFaults] = useState(NO_FAULTS);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const make = async ({ path, ...call }: ChangeCall): Promise<boolean> => {
    setBusy(true);
    setFaults(NO_FAULTS);
    try {
      setAnswer(await callApi<Answer>(path, { ...call, token }));
      return true;
    } catch (thrown) {
      setFaults(operatorFaults(thrown));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { token, setToken, isBusy, faults, setFaults, answer, make };
}

/** A wrong token is a fault of its field. */
function operatorFaults(thrown: unknown): ChangeFaults {
  if (thrown instanceof ApiError && thrown.status === 401)
    return { fields: { token: thrown.message }, whole: '' };
  return faultsOf(thrown);
}
