import { ByteWriter } from '../../base/bytes.ts';
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Explanation } from '../../decision/explain/explain-descriptor.ts';
import type { RequestMapper } from '../../mapping/request-mapper.ts';
import type { UnmappedRequest } from '../../messages/json-request.ts';
import { errorAnswer } from '../http/answer.ts';
import { readBody } from '../http/body.ts';
import type { Exchange } from '../http/exchange.ts';
import { convert, unmappedFault } from '../http/routes/decision-routes.ts';
import type { Route } from '../http/routes.ts';

/** Explains a `RateLimitRequest` in protobuf wire format and keeps no reference to its bytes. Rejects with a Fault. */
export type Explain = (request: Uint8Array) => Promise<Explanation>;

/** Maximum number of requests that wait for their turn or for the store. Further requests are rejected. */
export const MAX_CONCURRENT_EXPLANATIONS = 8;

/**
 * Minimum time between two explanations. Each takes this thread a few milliseconds at most, so decisions keep four
 * fifths of its time, regardless of the number of explanation requests.
 */
export const EXPLANATION_INTERVAL_MS = 25;

/** Maximum size of the body of a request. */
export const MAX_BODY_BYTES = 65_536;

const TOO_MANY = errorAnswer({
  code: 'overloaded',
  message: `${MAX_CONCURRENT_EXPLANATIONS} requests are already being explained; retry when one of them has finished`,
});

const NO_DESCRIPTORS = errorAnswer({
  code: 'bad_request',
  message:
    'request: it has no value for any descriptor, so it would be allowed without a decision; see `requests` of its rule file',
  path: 'request',
});

const TOO_LARGE = errorAnswer({
  code: 'body_too_large',
  message: `the body is larger than ${MAX_BODY_BYTES} bytes: explain fewer descriptors per request`,
});

/**
 * `/explain`: what `/json` would answer to the same body, and why, as JSON. Nothing is counted. The status is 200 even
 * if the decision is OVER_LIMIT. A request that `/json` would reject is rejected here as well.
 */
export function explainRoute(explain: Explain, mapper: RequestMapper, clock: Clock): Route {
  let running = 0;
  let nextMs = 0;
  const turn = (): Promise<void> => {
    const nowMs = clock.nowMs();
    // Limits the wait if the clock was set back.
    const startMs = Math.min(
      Math.max(nextMs, nowMs),
      nowMs + MAX_CONCURRENT_EXPLANATIONS * EXPLANATION_INTERVAL_MS,
    );
    nextMs = startMs + EXPLANATION_INTERVAL_MS;
    return new Promise(resolve => {
      if (startMs === nowMs) resolve();
      else clock.after(startMs - nowMs, resolve);
    });
  };
  const answer = async (exchange: Exchange, request: Uint8Array): Promise<void> => {
    running++;
    try {
      await turn();
      if (exchange.over) return;
      const body = JSON.stringify(await explain(request));
      exchange.answer({ status: '200 OK', contentType: 'application/json', body });
    } catch (thrown) {
      if (thrown instanceof Fault)
        exchange.answer(errorAnswer({ code: thrown.code, message: thrown.message }));
      else exchange.fail(thrown);
    } finally {
      running--;
    }
  };
  const map = (exchange: Exchange, unmapped: UnmappedRequest, request: ByteWriter): void => {
    const mapped = mapper.writeDescribed(unmapped, request, outcome => {
      if (outcome === 'mapped') void answer(exchange, request.take());
      else if (outcome === 'allowed') exchange.answer(NO_DESCRIPTORS);
      else exchange.answer(errorAnswer(unmappedFault(unmapped, outcome)));
    });
    mapped?.catch(thrown => exchange.fail(thrown));
  };
  return {
    path: '/explain',
    method: 'POST',
    help: 'explains the decision for the RateLimitRequest in the body; nothing is counted',
    handle: exchange =>
      readBody(
        exchange,
        body => {
          if (running >= MAX_CONCURRENT_EXPLANATIONS) return exchange.answer(TOO_MANY);
          const request = new ByteWriter(body.length);
          const converted = convert(body, request);
          if (converted === null) void answer(exchange, request.take());
          else if ('code' in converted) return exchange.answer(errorAnswer(converted));
          else map(exchange, converted, request);
          exchange.holdInput();
        },
        { bytes: MAX_BODY_BYTES, tooLarge: TOO_LARGE },
      ),
  };
}
