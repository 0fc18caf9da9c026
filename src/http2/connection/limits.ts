/**
 * An allowance for frames that cost us work and the peer nothing: resets, pings, settings, empty frames. It is refilled
 * by time and by what we do for the peer, because honest peers send such frames in proportion to it: some clients
 * measure the round trip with a ping for every answer.
 */
export interface BudgetTerms {
  /** How many may come at once. */
  readonly burst: number;
  readonly perSecond: number;
  readonly perRequest: number;
}

/** What a connection grants its peer, and what it puts up with. Each bound has a test that shows the peer's end. */
export interface ConnectionLimits {
  /** SETTINGS_MAX_CONCURRENT_STREAMS; more are refused. */
  readonly maxStreams: number;
  /** SETTINGS_MAX_HEADER_LIST_SIZE; a larger list is answered 431. */
  readonly maxHeaderListBytes: number;
  /** Fields in one header section; a longer list is answered 431 as well. */
  readonly maxHeaderFields: number;
  /** SETTINGS_INITIAL_WINDOW_SIZE: bytes of a request that may be under way before its message is known to be longer. */
  readonly streamWindow: number;
  /** Bytes of all requests that may be under way. */
  readonly connectionWindow: number;
  /** Bytes of answers that may wait for the peer's windows; more end the connection. The layer above stops before. */
  readonly maxQueuedBytes: number;
  /** An answer of which no byte could be sent for this long is given up; a DATA frame must be complete within it. */
  readonly stallMs: number;
  /** The peer's preface, each header section, and each frame but DATA must be complete within this time. */
  readonly headersMs: number;
  /** Our SETTINGS must be acknowledged within this time (RFC 9113, 6.5.3). */
  readonly settingsMs: number;
  /** A peer that was silent this long is asked for a sign of life. */
  readonly keepaliveIdleMs: number;
  /** It has this long to give it. */
  readonly keepaliveTimeoutMs: number;
  /** RST_STREAM from the peer, and streams beyond `maxStreams`: opening streams without end ("rapid reset"). */
  readonly resets: BudgetTerms;
  /**
   * A stream that lived this long may be reset at no charge. Proxies give up on calls after some 20 ms, so whenever a
   * store is slow nearly all of their calls end so, and a charge would cost them the connection at the worst moment.
   *
   * It is no way around `maxStreams`. The CPU for `maxStreams` calls in each such time is less than what calls that
   * are answered may cost, of which there can be as many as fit the line. The work that goes on behind a reset is
   * bounded by the layer above (`maxAbandoned` of its limits), which has to bound that of passed deadlines anyway.
   */
  readonly patienceMs: number;
  /** PING, SETTINGS, PRIORITY, GOAWAY and frames of unknown types. */
  readonly control: BudgetTerms;
  /** SETTINGS that change SETTINGS_INITIAL_WINDOW_SIZE: each moves the windows of all streams. */
  readonly windowChanges: BudgetTerms;
  /** DATA without data, and WINDOW_UPDATE; what is sent earns of the latter, see `BYTES_PER_UPDATE`. */
  readonly idleFrames: BudgetTerms;
  /**
   * HEADERS and small DATA frames on streams that were closed before the peer had ended its request: by its own
   * RST_STREAM, or by ours.
   */
  readonly lateFrames: BudgetTerms;
  /** DATA frames of a few octets, except the last one of a request; see `SMALL_DATA_BYTES`. */
  readonly smallData: BudgetTerms;
  /**
   * Header sections above `maxHeaderListBytes` or `maxHeaderFields`. Each is decoded completely and answered with 431.
   */
  readonly largeHeaders: BudgetTerms;
  /** Requests that are malformed or break a rule of their stream. */
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
  // Clients that measure the line change it some times a second.
  windowChanges: { burst: 100, perSecond: 20, perRequest: 0 },
  idleFrames: { burst: 2_000, perSecond: 100, perRequest: 8 },
  // A call that is canceled early brings one, or two with trailers; one that is refused early, a window of them.
  lateFrames: { burst: 2_000, perSecond: 100, perRequest: 4 },
  // Some clients send the prefix of a message in a frame of its own.
  smallData: { burst: 2_000, perSecond: 200, perRequest: 4 },
  // A well-behaved caller may send such a section with every call, next to calls that are answered.
  largeHeaders: { burst: 200, perSecond: 20, perRequest: 1 },
  streamFaults: { burst: 200, perSecond: 10, perRequest: 0 },
};
