import { ByteWriter } from '../../../src/base/bytes.ts';
import { DEFAULT_MAX_FRAME_BYTES, FRAME, writeFrameHeader } from '../../../src/http2/frame/frame.ts';
import { writeHeaders } from '../../../src/http2/frame/headers.ts';
import { HpackEncoder } from '../../../test/support/hpack-encoder.ts';
import { bucketId, usageReports } from '../../../test/support/quota/model-proxy.ts';
import { framed } from '../grpc-framing.ts';
import { HEADER_TABLE_BYTES, headerBlock } from '../grpc-load/request-frames.ts';

export const STREAM_QUOTAS_PATH =
  '/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas';

/** The first stream of a client, and the only one of a proxy. */
export const QUOTA_STREAM = 1;

/** What a proxy reports, each time the same. */
export interface ReportTemplate {
  readonly domain: string;
  /** The key of the entry of each bucket. */
  readonly key: string;
  readonly buckets: number;
  /** Requests of each bucket since the previous report. */
  readonly allowed: number;
}

/** The value of the entry of a bucket. */
export function bucketValue(number: number): string {
  return `bucket-${String(number).padStart(6, '0')}`;
}

/** A part of a report that one DATA frame carries, with the header of the frame. */
interface DataFrame {
  readonly bytes: Buffer;
  /** What flow control counts. */
  readonly dataBytes: number;
}

/** The frames of a proxy, made beforehand: HEADERS that open its stream, and the DATA of a report of all its buckets. */
export class ReportFrames {
  readonly headers: Uint8Array;
  readonly data: readonly DataFrame[];

  constructor({ domain, key, buckets, allowed }: ReportTemplate) {
    const out = new ByteWriter();
    const block = headerBlock(new HpackEncoder({ maxTableSize: HEADER_TABLE_BYTES }), STREAM_QUOTAS_PATH);
    writeHeaders(out, QUOTA_STREAM, block, { endStream: false, maxFrameBytes: DEFAULT_MAX_FRAME_BYTES });
    this.headers = out.take();
    const usages = Array.from({ length: buckets }, (_, i) => ({
      id: bucketId([[key, bucketValue(i)]]),
      allowed,
      denied: 0,
    }));
    this.data = dataFrames(framed(usageReports(domain, usages)));
  }
}

function dataFrames(content: Uint8Array): DataFrame[] {
  const frames: DataFrame[] = [];
  for (let at = 0; at < content.length; at += DEFAULT_MAX_FRAME_BYTES) {
    const part = content.subarray(at, at + DEFAULT_MAX_FRAME_BYTES);
    const out = new ByteWriter();
    writeFrameHeader(out, part.length, FRAME.data, 0, QUOTA_STREAM);
    out.copy(part, 0, part.length);
    frames.push({ bytes: Buffer.from(out.take()), dataBytes: part.length });
  }
  return frames;
}
