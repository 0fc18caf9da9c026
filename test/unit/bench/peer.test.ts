import t from 'tap';
import { readPeer, startPeer } from '../../../bench/load/decisions/peer.ts';
import { BadArguments } from '../../../bench/support/options.ts';

t.test('a peer is a name and a command, which may contain further equals signs', async t => {
  t.same(readPeer('reference=env A=b ./ratelimit'), { name: 'reference', command: 'env A=b ./ratelimit' });
  for (const text of ['reference', '=./ratelimit', 'reference='])
    t.throws(
      () => readPeer(text),
      new BadArguments(`--peer ${text} is not NAME=COMMAND, such as --peer reference=./ratelimit`),
    );
});

t.test('a peer that ends instead of listening stops the bench with what it wrote', async t => {
  const peer = { name: 'broken', command: 'sh -c "echo no rules; exit 3"' };
  const started = startPeer(peer, { rulesFolder: '/nowhere', redis: '127.0.0.1:1' });
  await t.rejects(started, { message: /^the peer broken ended; it wrote:\nno rules\n/ });
});
