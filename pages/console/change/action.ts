import { useState } from 'preact/hooks';
import { type ChangeFaults, faultsOf, NO_FAULTS } from '../../service/change-faults.ts';

/** A change that the user makes, its progress and its faults. */
interface Action {
  readonly isBusy: boolean;
  readonly faults: ChangeFaults;
  readonly setFaults: (faults: ChangeFaults) => void;
  /** Makes the change. Resolves with true if it was made. */
  readonly make: (change: () => Promise<unknown>) => Promise<boolean>;
}

/** The state of a change from the form to its result. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [faults, setFaults] = useState(NO_FAULTS);
  const make = async (change: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setFaults(NO_FAULTS);
    try {
      await change();
      return true;
    } catch (thrown) {
      setFaults(faultsOf(thrown));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, faults, setFaults, make };
}
