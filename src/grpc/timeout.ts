/** Milliseconds of each unit of `grpc-timeout` ("gRPC over HTTP2", Timeout). */
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Digits and unit; the protocol allows at most eight digits. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

/** Time that a call may take in milliseconds; NaN when the text is not one. */
export function parseTimeoutMs(text: string): number {
  const match = TIMEOUT.exec(text);
  return match === null ? Number.NaN : Number(match[1]) * UNIT_MS[match[2]];
}
