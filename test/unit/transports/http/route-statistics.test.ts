import { Fault } from '../../../../src/base/fault.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { RouteStatistics } from '../../../../src/transports/http/route-statistics.ts';
import { jsonRoute } from '../../../../src/transports/http/routes/decision-routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { mapperOf } from '../../../support/request-mapper.ts';
import { onEachEngine } from './on-each-engine.ts';
import { post, RawConnection } from './raw-connection.ts';
import { ScriptedDecider } from './scripted-decider.ts';
import { serve } from './serving.ts';

const REQUEST = '{"domain":"d","descriptors":[{"entries":[{"key":"k"}]}]}';

onEachEngine('answers are counted by status, and measured from the end of the request', async t => {
  const stats = new StatsRegistry();
  const decider = new ScriptedDecider(reply => reply.answered(Buffer.from('{}'), false));
  const observer = new RouteStatistics(stats, 'json', ['200 OK', '429 Too Many Requests']);
  const listener = await serve(t, [
    jsonRoute({ decider, mapper: mapperOf(), log: new KeepingLogger() }, { observer }),
  ]);
  const connection = await RawConnection.openFor(t, listener.port);
  const asked = async (text: string): Promise<number> => {
    return (await connection.ask(text)).status;
  };
  t.same([...stats.counterNames()].length, 2, 'before the first answers');
  t.equal(await asked(post('/json', REQUEST)), 200);
  decider.become(reply => setTimeout(() => reply.answered(Buffer.from('{}'), true), 20));
  t.equal(await asked(post('/json', REQUEST)), 429);
  decider.become(reply => reply.refused(new Fault('store_failed', 'it is away')));
  t.equal(await asked(post('/json', REQUEST)), 503);
  t.equal(await asked(post('/json', '{')), 400);
  t.equal(await asked(post('/json', '{}')), 503, 'the decider refuses it');
  t.equal(await asked(post('/jso', REQUEST)), 404, 'another route');
  const responseTime = stats.timers().get('ratelimit.http.json.response_time');
  t.match(responseTime, { count: 5 });
  t.ok(Number(responseTime?.maxMs) >= 19 && Number(responseTime?.maxMs) < 5_000);
  t.equal(
    await asked('POST /json HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999\r\n\r\n'),
    413,
    'before the body has arrived',
  );
  t.match(responseTime, { count: 5 }, 'there is no end of the request');
  t.same(
    new Map(stats.counters()),
    new Map(
      [
        [200, 1],
        [400, 1],
        [413, 1],
        [429, 1],
        [503, 2],
      ].map(([code, count]) => [`ratelimit.http.json.${code}.total_requests`, count]),
    ),
  );
});
