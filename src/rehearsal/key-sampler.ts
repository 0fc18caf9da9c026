import { Fingerprinter, type FingerprintKey } from '../counters/fingerprint.ts';
import type { RequestTable } from '../messages/request-table.ts';

/**
 * Chooses a share of the descriptors by their texts: all requests with one descriptor are decided, or none of them, so that
 * the counters of a chosen key are complete.
 */
export class KeySampler {
  readonly #print: Fingerprinter;

  constructor(key: FingerprintKey) {
    this.#print = new Fingerprinter(key);
  }

  /** Takes away the entries of all descriptors that are not chosen, so that no rule matches them. */
  leaveOut(requests: RequestTable, share: number): void {
    const below = share * 0x1_0000_0000;
    for (let row = 0; row < requests.descriptorRows; row++) {
      const count = requests.entryCount[row];
      if (count === 0) continue;
      const first = requests.firstEntry[row];
      let hash = 0;
      for (let entry = first; entry < first + count; entry++) {
        this.#print.take(requests.bytes, requests.keyStart[entry], requests.keyEnd[entry]);
        hash = Math.imul(hash ^ this.#print.a, 0x9e3779b1);
        this.#print.take(requests.bytes, requests.valueStart[entry], requests.valueEnd[entry]);
        hash = Math.imul(hash ^ this.#print.b, 0x85ebca6b) ^ (hash >>> 15);
      }
      if (hash >>> 0 >= below) requests.entryCount[row] = 0;
    }
  }
}
