import { ByteWriter } from '../../base/bytes.ts';
import { Fault } from '../../base/fault.ts';
import type { Explanation } from '../../decision/explanation.ts';
import { readBody } from '../http/body.ts';
import { convert } from '../http/decision-routes.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/routes.ts';
import { errorAnswer } from '../http/status.ts';

/** Explains a `RateLimitRequest` in protobuf wire format, of which it keeps no byte. Rejects with a Fault. */
export type Explain = (request: Uint8Array) => Promise<Explanation>;

/** So many requests are explained at once: each asks the store, which has decisions to make. */
export const MAX_EXPLAINED_AT_ONCE = 8;

const TOO_MANY = errorAnswer({
  code: 'overloaded',
  message: `${MAX_EXPLAINED_AT_ONCE} requests are being explained: try again when one of them is done`,
});

/**
 * `/explain`: what `/json` would answer to the same body, and why, as JSON. Nothing is counted. The status is 200
 * whatever the answer would be; a request that would be refused is refused here as well.
 */
export function explainRoute(explain: Explain): Route {
  let running = 0;
  const answer = async (exchange: Exchange, request: Uint8Array): Promise<void> => {
    running++;
    try {
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
  return {
    path: '/explain',
    method: 'POST',
    help: 'what /json would answer to the RateLimitRequest in the body, and why; nothing is counted',
    handle: exchange =>
      readBody(exchange, body => {
        if (running >= MAX_EXPLAINED_AT_ONCE) return exchange.answer(TOO_MANY);
        const request = new ByteWriter(body.length);
        const fault = convert(body, request);
        if (fault !== null) return exchange.answer(errorAnswer(fault));
        void answer(exchange, request.take());
        exchange.holdInput();
      }),
  };
}
