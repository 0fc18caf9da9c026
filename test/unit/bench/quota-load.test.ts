import t, { type Test } from 'tap';
import { ActionScanner } from '../../../bench/support/quota-load/action-scanner.ts';
import { RunningQuotaLoad } from '../../../bench/support/quota-load/load.ts';
import { bucketValue, STREAM_QUOTAS_PATH } from '../../../bench/support/quota-load/report-frames.ts';
import type { BidiMethod, ReplyStream } from '../../../src/grpc/service.ts';
import { decodeBucketId, decodeUsageReports, QuotaActions } from '../../../src/messages/quota-codec.ts';
import { serveOwn } from '../../support/own-server.ts';
import { bucketId } from '../../support/quota/model-proxy.ts';

const ID = bucketId([['user', 'ann']]);

/** Messages as gRPC sends them, one after the other. */
function content(...messages: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    messages.map(message => {
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(message.length, 1);
      return Buffer.concat([prefix, message]);
    }),
  );
}

function responses(): Buffer {
  const actions = new QuotaActions();
  actions.assign(ID, { kind: 'token_bucket', tokens: 300, intervalS: 1 }, 30);
  actions.assign(ID, { kind: 'deny_all' }, 0);
  const first = actions.take().slice();
  actions.abandon(ID);
  actions.assign(ID, { kind: 'token_bucket', tokens: 7, intervalS: 60 }, 300);
  return content(first, actions.take());
}

t.test('actions are counted by their kind, however the content of the stream is cut', async t => {
  const bytes = responses();
  for (const size of [1, 7, 64, bytes.length]) {
    const scanner = new ActionScanner();
    let actions = 0;
    for (let at = 0; at < bytes.length; at += size)
      actions += scanner.take(bytes, at, Math.min(at + size, bytes.length));
    t.equal(actions, 4, `in pieces of ${size} bytes`);
    t.same(scanner.seen, { tokenBuckets: 2, others: 2, mostTokens: 300, longestTtlS: 300 });
  }
});

t.test('what is no action is a fault', async t => {
  const bytes = content(Uint8Array.of(0x12, 0));
  t.throws(() => new ActionScanner().take(bytes, 0, bytes.length), {
    message: 'a RateLimitQuotaResponse has the byte 18 and not the tag 10',
  });
});

/** Answers buckets of a message with a token bucket each. */
function answer(stream: ReplyStream, ids: readonly Uint8Array[]): void {
  const actions = new QuotaActions();
  for (const id of ids) actions.assign(id, { kind: 'token_bucket', tokens: 9, intervalS: 1 }, 30);
  stream.send(actions.take());
}

/** Two proxies with 3,000 buckets each, so that a report takes several frames, and a server with this method. */
async function opened(t: Test, method: BidiMethod, buckets = 3_000): Promise<RunningQuotaLoad> {
  const { server } = await serveOwn(t, { bidi: { [STREAM_QUOTAS_PATH]: method } });
  if (!('port' in server.address)) throw new Error('the server has no port');
  const running = await RunningQuotaLoad.open({
    port: server.address.port,
    proxies: 2,
    template: { domain: 'bench', key: 'user', buckets, allowed: 2 },
    watched: {},
  });
  t.teardown(() => running.close());
  return running;
}

t.test(
  'each proxy reports all its buckets, and the next one reports when all of them are answered',
  async t => {
    const isDone = Promise.withResolvers<void>();
    let messages = 0;
    const running = await opened(t, stream => ({
      message: bytes => {
        const { domain, usages } = decodeUsageReports(bytes);
        if (++messages === 20) isDone.resolve();
        t.equal(domain, 'bench');
        t.equal(usages.length, 3_000);
        const last = usages[2_999];
        t.same([last.allowed, last.denied], [2, 0]);
        t.same(decodeBucketId(last.id), [{ key: 'user', value: bucketValue(2_999) }]);
        const ids = usages.map(({ id }) => id);
        answer(stream, ids.slice(0, 1_000));
        answer(stream, ids.slice(1_000));
      },
      end: () => {},
    }));
    running.drive(null);
    await isDone.promise;
    const { reports, unanswered, fewestOfProxy, tokenBuckets, others } = await running.rest();
    t.ok(fewestOfProxy > 5);
    t.same(
      { reports, unanswered, tokenBuckets, others },
      {
        reports: messages,
        unanswered: 0,
        tokenBuckets: messages * 3_000,
        others: 0,
      },
    );
    t.equal(running.mark().latency.count, messages);
  },
);

t.test('a paced load reports at its rate, whether or not other proxies are answered', async t => {
  const isDone = Promise.withResolvers<void>();
  let messages = 0;
  const running = await opened(
    t,
    stream => ({
      message: bytes => {
        if (++messages === 10) isDone.resolve();
        const { usages } = decodeUsageReports(bytes);
        answer(
          stream,
          usages.map(({ id }) => id),
        );
      },
      end: () => {},
    }),
    5,
  );
  running.drive(500);
  await isDone.promise;
  t.equal((await running.rest()).reports, messages);
});

t.test('more actions than buckets are a fault', async t => {
  const isSent = Promise.withResolvers<void>();
  const running = await opened(
    t,
    stream => ({
      message: () => {
        answer(stream, [ID, ID, ID]);
        isSent.resolve();
      },
      end: () => {},
    }),
    2,
  );
  running.drive(null);
  await isSent.promise;
  await t.rejects(running.rest(), {
    message: 'a proxy got 1 actions more than it has reported buckets',
  });
});

t.test('a stream that the server ends is a fault, with its words', async t => {
  const running = await opened(
    t,
    stream => ({ message: () => stream.end(12, 'no quotas here'), end: () => {} }),
    2,
  );
  running.drive(null);
  await t.rejects(running.rest(), {
    message: /^the server ended a stream: grpc-status 12, grpc-message no quotas here$/,
  });
});
