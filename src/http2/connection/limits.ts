/**
 * A budget for frames that cost the server work and the peer almost nothing: resets, pings, settings, empty frames.
 * Time and requests refill it, because honest peers send such frames in proportion to their requests. Some clients, for
 * example, measure the round-trip time with a ping per response.
 */
export interface BudgetTerms {
  /** Maximum, and the initial value. */
  readonly burst: number;
  /** Refill per second. */
  readonly perSecond: number;
  /** Refill per well-formed request. For some budgets, each message of a stream of requests counts as one. */
  readonly perRequest: number;
}

/** Limits of one connection. Every limit has a test that shows what a peer that exceeds it sees. */
export interface ConnectionLimits {
  /** SETTINGS_MAX_CONCURRENT_STREAMS. Further streams are refused. */
  readonly maxStreams: number;
  /** SETTINGS_MAX_HEADER_LIST_SIZE. Requests with a larger list are answered with 431. */
  readonly maxHeaderListBytes: number;
  /** Maximum number of fields in a header section. Requests with more are answered with 431. */
  readonly maxHeaderFields: number;
  /**
   * SETTINGS_INITIAL_WINDOW_SIZE: bytes of a request that may be in flight before the length of its message is known.
   */
  readonly streamWindow: number;
  /** Bytes of all requests that may be in flight. */
  readonly connectionWindow: number;
  /** Response bytes that may wait for the peer's windows. More end the connection; gRPC stops sending before that. */
  readonly maxQueuedBytes: number;
  /** A response that could send no byte for this long is canceled. DATA frames must be complete within this time. */
  readonly stallMs: number;
  /** The preface, each header section, and each frame except DATA must be complete within this time. */
  readonly headersMs: number;
  /** The peer must acknowledge SETTINGS within this time (RFC 9113, 6.5.3). */
  readonly settingsMs: number;
  /** A peer that has sent nothing for this long gets a keepalive ping. */
  readonly keepaliveIdleMs: number;
  /** Time to respond to a keepalive ping. */
  readonly keepaliveTimeoutMs: number;
  /** RST_STREAM of the peer, and streams beyond `maxStreams`. Limits the "rapid reset" attack. */
  readonly resets: BudgetTerms;
  /**
   * Streams that lived at least this long may be reset without using the budget. Proxies typically cancel calls after
   * 20 ms, so when a store is slow they reset nearly all of their calls. Charging these resets would cost them the
   * connection at the worst moment.
   *
   * This does not circumvent `maxStreams`: `maxStreams` calls per `patienceMs` use less CPU than the calls that a peer
   * may make without resets. `maxAbandoned` of the gRPC limits bounds the work that continues after a reset.
   */
  readonly patienceMs: number;
  /** PING, SETTINGS, PRIORITY, GOAWAY and frames of unknown types. */
  readonly control: BudgetTerms;
  /** SETTINGS that change SETTINGS_INITIAL_WINDOW_SIZE. Each updates the windows of all streams. */
  readonly windowChanges: BudgetTerms;
  /** Empty DATA frames and WINDOW_UPDATE. Sent data refills this budget as well, see `BYTES_PER_UPDATE`. */
  readonly idleFrames: BudgetTerms;
  /**
   * HEADERS and small DATA frames on streams that RST_STREAM of either side closed before the peer had ended its
   * request.
   */
  readonly lateFrames: BudgetTerms;
  /** DATA frames below `SMALL_DATA_BYTES`, except the last one of a request. */
  readonly smallData: BudgetTerms;
  /**
   * Header sections above `maxHeaderListBytes` or `maxHeaderFields`. Each is decoded completely and answered with 431.
   */
  readonly largeHeaders: BudgetTerms;
  /** Malformed requests and other stream errors. */
  readonly streamFaults: BudgetTerms;
}

export const DEFAULT_LIMITS: ConnectionLimits = {
  maxStreams: 1_000,
  maxHeaderListBytes: 131_072,
  maxHeaderFields: 1_000,
  streamWindow: 65_535,
  connectionWindow: 4 * 1_048_576,
  maxQueuedBytes: 16 * 1_048_576,
  stallMs: 60_000,
  headersMs: 10_000,
  settingsMs: 30_000,
  keepaliveIdleMs: 120_000,
  keepaliveTimeoutMs: 20_000,
  resets: { burst: 1_000, perSecond: 33, perRequest: 0.5 },
  patienceMs: 10,
  control: { burst: 500, perSecond: 20, perRequest: 2 },
  // Clients that measure their bandwidth change the window size several times a second.
  windowChanges: { burst: 100, perSecond: 20, perRequest: 0 },
  idleFrames: { burst: 2_000, perSecond: 100, perRequest: 8 },
  // An early-canceled call causes one such frame, or two with trailers; a refused call can cause a window of them.
  lateFrames: { burst: 2_000, perSecond: 100, perRequest: 4 },
  // Some clients send the prefix of a message in a separate frame.
  smallData: { burst: 2_000, perSecond: 200, perRequest: 4 },
  // A well-behaved caller can send such a section with every second call.
  largeHeaders: { burst: 200, perSecond: 20, perRequest: 1 },
  streamFaults: { burst: 200, perSecond: 10, perRequest: 0 },
};
