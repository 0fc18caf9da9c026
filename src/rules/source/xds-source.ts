import { type BackoffBounds, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import { Outage, type OutageListener, type OutageTexts } from '../../base/outage-log.ts';
import { explainTlsFailure, withoutTls } from '../../base/tls/client-tls.ts';
import {
  type DiscoveryResponse,
  decodeDiscoveryResponse,
  encodeDiscoveryRequest,
  encodeNode,
  MAX_RESOURCES,
  type Resource,
} from '../../messages/discovery-codec.ts';
import { type LoadOutcome, MAX_REPORTED_FAULTS, type RuleFile, type RuleSetLoader } from '../rule-set.ts';
import {
  AdsStream,
  type AdsStreamOptions,
  channelCredentials,
  serverNameOptions,
  XDS_TLS_REMEDIES,
  type XdsTls,
} from './ads-stream.ts';

/** Explains failures of connections without TLS. */
const PLAIN = withoutTls('set CONFIG_GRPC_XDS_SERVER_USE_TLS=true, or write https:// before its address');

export interface XdsRuleSourceOptions
  extends Pick<AdsStreamOptions, 'target' | 'headers' | 'maxMessageBytes'> {
  /** Null for a connection without TLS. */
  readonly tls: XdsTls | null;
  /** How this instance identifies itself to the server. */
  readonly node: { readonly id: string; readonly metadata: JsonObject };
  /** Delay between connection attempts. */
  readonly connectRetryMs: number;
  /** Delays after consecutive streams that ended. */
  readonly backoff: BackoffBounds;
  readonly logger: Logger;
  /** Receives the outages of the server. */
  readonly outages: OutageListener;
  readonly clock: Clock;
  /** Jitter: a random number, 0 inclusive to 1 exclusive. Always 1 for delays without jitter. */
  readonly random: () => number;
}

/**
 * Delays before a version that was already refused is refused again. Most servers send corrected rules only in response
 * to a refusal, so a correction can be delayed by this much.
 */
const RESENT_BACKOFF: BackoffBounds = { initialMs: 1_000, maxMs: 4_000, multiplier: 2 };

/** Maximum length of the error message in a NACK. */
const MAX_REFUSAL_CHARACTERS = 8_192;

/**
 * Rules from an xDS server: an aggregated discovery stream, state of the world. Each response is the complete set of
 * rules. The set is loaded and accepted (ACK), or refused with all its faults (NACK). While the server is unavailable,
 * the last good rules stay active and the source keeps reconnecting.
 *
 * A new stream starts with the last accepted version, so that the server need not send it again.
 */
export class XdsRuleSource implements Service {
  readonly name = 'xDS rules';
  readonly #options: XdsRuleSourceOptions;
  readonly #loader: RuleSetLoader;
  readonly #node: Uint8Array;
  /** The version of the active rules; empty for none. */
  #accepted = '';
  /** The version refused last, and how often it was refused again; null after a set was accepted. */
  #refused: { readonly version: string; readonly times: number } | null = null;
  /** Number of streams that ended since the last response. */
  #endedStreams = 0;
  readonly #outage: Outage;
  #stream: AdsStream | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;
  readonly #stopAsked = Promise.withResolvers<LoadOutcome>();

  constructor(options: XdsRuleSourceOptions, loader: RuleSetLoader) {
    this.#options = options;
    this.#loader = loader;
    this.#node = encodeNode(options.node);
    this.#outage = new Outage(outageTexts(options.target), options.outages, options.clock);
  }

  /**
   * Starts connecting, without waiting for rules.
   * @throws Error that names the setting if a TLS file cannot be used
   */
  async start(): Promise<void> {
    await channelCredentials(this.#options.tls);
    if (!this.#stopped) this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopAsked.resolve({ kind: 'dropped' });
    this.#stream?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const waitMs = await this.#attempt();
      if (!this.#stopped) await this.#pause(waitMs);
    }
  }

  /** Runs one stream from connecting to its end. Returns the delay before the next one, in milliseconds. */
  async #attempt(): Promise<number> {
    try {
      await this.#connect();
    } catch (failure) {
      const waitMs = this.#options.connectRetryMs;
      const { message } = asError(failure);
      const reason = this.#options.tls === null ? PLAIN.explain(message) : message;
      this.#disconnected('Could not connect to the xDS server', reason, waitMs);
      this.#stream?.close();
      return waitMs;
    }
    const reason = await this.#follow().then(
      () => 'the server ended the stream',
      (failure: unknown) => asError(failure).message,
    );
    this.#stream?.close();
    const { backoff, random } = this.#options;
    const waitMs = backoffMs(backoff, this.#endedStreams++, random);
    this.#disconnected('The xDS stream ended', reason, waitMs);
    return waitMs;
  }

  async #connect(): Promise<void> {
    const { target, headers, maxMessageBytes, tls, clock, logger } = this.#options;
    const credentials = await channelCredentials(tls);
    const channelOptions = serverNameOptions(tls);
    this.#stream = new AdsStream({ target, credentials, channelOptions, headers, maxMessageBytes, clock });
    // A `stop` before this line found no stream to close.
    if (this.#stopped) throw new Error('the service is shutting down');
    await this.#stream.open();
    logger.info('Connected to the xDS server', { address: target });
    this.#outage.connected(target);
  }

  async #follow(): Promise<void> {
    const stream = this.#stream!;
    this.#say(stream, '', '');
    for await (const bytes of stream.messages()) {
      const response = decoded(bytes);
      this.#endedStreams = 0;
      await this.#answer(stream, response);
    }
  }

  async #answer(stream: AdsStream, response: DiscoveryResponse): Promise<void> {
    const { version, nonce, typeUrl } = response;
    const { logger } = this.#options;
    logger.debug('xDS response', { version, nonce, resources: response.resources.length });
    // Resources of another type say nothing about the rules, so they must not replace them.
    if (typeUrl !== '' && !isConfigType(typeUrl)) {
      logger.warning('Ignored resources of another type from the xDS server', { type: typeUrl });
      return;
    }
    const sentAgain = version === this.#refused?.version;
    if (sentAgain) await this.#pauseBeforeRefusing();
    if (this.#stopped) return;
    const outcome = await this.#load(response, sentAgain);
    if (outcome.kind === 'dropped') return;
    if (outcome.kind === 'active') {
      this.#accepted = version;
      this.#refused = null;
      this.#say(stream, nonce, '');
    } else {
      this.#refused = { version, times: sentAgain ? (this.#refused?.times ?? 0) + 1 : 0 };
      this.#say(stream, nonce, outcome.reasons.join('\n').slice(0, MAX_REFUSAL_CHARACTERS));
    }
  }

  /** Servers based on go-control-plane respond to every refusal by sending the same version again, immediately. */
  #pauseBeforeRefusing(): Promise<void> {
    return this.#pause(backoffMs(RESENT_BACKOFF, this.#refused?.times ?? 0, () => 1));
  }

  async #load(response: DiscoveryResponse, sentAgain: boolean): Promise<LoadOutcome> {
    const { files, faults } = resourceFiles(response.resources);
    if (faults.length === 0) return Promise.race([this.#loader.load(files), this.#stopAsked.promise]);
    if (!sentAgain) this.#loader.refuse(faults);
    return { kind: 'refused', reasons: faults };
  }

  #say(stream: AdsStream, nonce: string, refusal: string): void {
    const version = this.#accepted;
    stream.send(
      encodeDiscoveryRequest({ node: this.#node, typeUrl: CONFIG_TYPE_URL, version, nonce, refusal }),
    );
  }

  /** Retries never end, so the log has one line for the outage, and each attempt at `debug` only. */
  #disconnected(message: string, reason: string, waitMs: number): void {
    if (this.#stopped) return;
    const { logger, target, tls } = this.#options;
    const explained = tls === null ? reason : explainTlsFailure(reason, XDS_TLS_REMEDIES);
    logger.debug(message, { address: target, reason: explained, retryInMs: Math.round(waitMs) });
    this.#outage.lost(target, explained, this.#accepted === '');
  }

  async #pause(waitMs: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(waitMs, over.resolve);
    await Promise.race([over.promise, this.#stopAsked.promise]);
    timer.cancel();
  }
}

function outageTexts(address: string): OutageTexts {
  return {
    level: 'error',
    began: 'xDS server unavailable; the rules loaded before stay active',
    beganAtStart: 'xDS server unavailable; its rules are missing until it answers',
    over: 'xDS server available again',
    fields: { address },
  };
}

/** @throws Error if the message is invalid: without a nonce it cannot be refused, so the stream has to end */
function decoded(bytes: Uint8Array): DiscoveryResponse {
  try {
    return decodeDiscoveryResponse(bytes);
  } catch (failure) {
    const text = `the server sent an invalid DiscoveryResponse: ${asError(failure).message}`;
    throw new Error(text, { cause: failure });
  }
}

/** The type of the resources that hold the rules of a domain. */
const CONFIG_TYPE_URL = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';

/** The resources of a response as rule files, or the reasons why they cannot be loaded. */
interface ResourceFiles {
  readonly files: readonly RuleFile[];
  readonly faults: readonly string[];
}

/** Whether a type URL is {@link CONFIG_TYPE_URL}. Only the part after the last slash counts (protobuf, `Any`). */
function isConfigType(typeUrl: string): boolean {
  return typeUrl.slice(typeUrl.lastIndexOf('/')) === CONFIG_TYPE_URL.slice(CONFIG_TYPE_URL.lastIndexOf('/'));
}

/** Resources are named by their index in the response until their own name is decoded. */
function resourceFiles(resources: readonly Resource[]): ResourceFiles {
  if (resources.length > MAX_RESOURCES) {
    return {
      files: [],
      faults: [`there are more than ${MAX_RESOURCES} resources: put more rules into each resource`],
    };
  }
  const faults = resources.flatMap(({ typeUrl }, index) =>
    isConfigType(typeUrl)
      ? []
      : [
          `resources[${index}]: the type is ${JSON.stringify(typeUrl)}, and only ${CONFIG_TYPE_URL} is accepted`,
        ],
  );
  const files = resources.map(
    // A copy: passing a view to another thread would transfer the whole buffer behind it.
    ({ value }, index): RuleFile => ({
      name: `resources[${index}]`,
      content: value.slice(),
      format: 'resource',
    }),
  );
  return { files, faults: faults.slice(0, MAX_REPORTED_FAULTS) };
}
