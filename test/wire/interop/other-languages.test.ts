import t from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import type { UnaryMethod } from '../../../src/grpc/service.ts';
import { CLIENT_LANGUAGES, clientMissing, runClient } from '../../support/grpc-clients.ts';
import { serveOwn, silent } from '../../support/own-server.ts';
import { until } from '../../support/until.ts';

const CALLS = 6_000;

/** Answers with the encoding that the call names. */
const encoding: UnaryMethod = (_request, reply) => reply.send(Buffer.from(reply.header('grpc-encoding')));

for (const language of CLIENT_LANGUAGES) {
  t.test(
    `a client in ${language} calls, compresses, gives up at its deadline, and cancels at the cost of no other call`,
    { skip: clientMissing(language) },
    async t => {
      const { server, log } = await serveOwn(t, {
        unary: { '/s/Silent': silent, '/s/Encoding': encoding },
        options: { clock: systemClock },
      });
      if ('path' in server.address) throw new Error('not on TCP');
      const { load, ...seen } = await runClient(language, `127.0.0.1:${server.address.port}`, CALLS);
      t.match(seen, { echo: 'hello', large: true, gzip: true, encoding: 'gzip' });
      t.match(seen.deadline, /^deadline_?exceeded$/i);
      const { ok = 0, cancelled = 0, ...failed } = load;
      t.strictSame(failed, {}, 'no call fails that was not canceled');
      t.equal(ok + cancelled, CALLS);
      t.ok(ok >= (CALLS * 3) / 4, `${ok} calls were answered`);
      t.ok(cancelled > 0, `${cancelled} calls were canceled early`);
      // A client that exits resets its connection if it has not read all answers.
      const faults = log.filter(
        ({ '@message': message, error }) =>
          /^(gRPC connection|Closed a gRPC)/.test(String(message)) && !/ECONNRESET|EPIPE/.test(String(error)),
      );
      t.strictSame(faults, [], 'no connection was at fault');
      await until(() => server.streamCount === 0);
      t.equal(server.deadlineCount, 0);
      t.equal(server.heldBytes, 0);
    },
  );
}
