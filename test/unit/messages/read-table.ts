import type { RequestTable } from '../../../src/messages/request-table.ts';

/** A request of a table as plain data. */
export interface ReadRequest {
  readonly domain: string;
  readonly descriptors: readonly ReadDescriptor[];
  readonly hits: number;
}

export interface ReadDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly limit: { readonly requestsPerUnit: number; readonly unit: number } | null;
  readonly hits: number | null;
  readonly isRefund: boolean;
}

/** All requests of a table, read back out of its columns. */
export function readTable(table: RequestTable): ReadRequest[] {
  return Array.from({ length: table.requestCount }, (_, request) => ({
    domain: table.text(table.domainStart[request], table.domainEnd[request]),
    descriptors: Array.from({ length: table.descriptorCount[request] }, (_, i) =>
      readDescriptor(table, table.firstDescriptor[request] + i),
    ),
    hits: table.requestHits[request],
  }));
}

function readDescriptor(table: RequestTable, row: number): ReadDescriptor {
  const limit = { requestsPerUnit: table.overrideRequestsPerUnit[row], unit: table.overrideUnit[row] };
  return {
    entries: Array.from({ length: table.entryCount[row] }, (_, i) => {
      const entry = table.firstEntry[row] + i;
      return {
        key: table.text(table.keyStart[entry], table.keyEnd[entry]),
        value: table.text(table.valueStart[entry], table.valueEnd[entry]),
      };
    }),
    limit: table.hasOverride[row] === 1 ? limit : null,
    hits: table.descriptorHits[row] < 0 ? null : table.descriptorHits[row],
    isRefund: table.isRefund[row] === 1,
  };
}
