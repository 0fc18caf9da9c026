import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';
import { sizeOf } from './blocks.ts';

/** The dynamic table as RFC 7541, 4, describes it, with no regard to cost. The newest entry is the first. */
export class PlainTable {
  readonly entries: HeaderField[] = [];
  maxSize: number;

  constructor(maxSize: number) {
    this.maxSize = maxSize;
  }

  add(name: string, value: string): void {
    const size = sizeOf([[name, value]]);
    while (this.entries.length > 0 && sizeOf(this.entries) + size > this.maxSize) this.entries.pop();
    if (size <= this.maxSize) this.entries.unshift([name, value]);
  }

  resize(maxSize: number): void {
    this.maxSize = maxSize;
    while (sizeOf(this.entries) > maxSize) this.entries.pop();
  }
}
