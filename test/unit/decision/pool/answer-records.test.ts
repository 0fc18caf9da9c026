import t from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import type { DecisionReply } from '../../../../src/decision/decider.ts';
import { AnswerReader, AnswerWriter } from '../../../../src/decision/pool/answer-records.ts';
import { RECORD_HEAD_BYTES, Records } from '../../../../src/decision/records.ts';
import { each } from '../../../support/each.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { words } from '../../../support/words.ts';

const SIZES = [0, 1, 17, 63, 64, 65, 200, 1_023, 1_024, 1_025, 5_000, 70_000];

function bytes(random: SeededRandom): Buffer {
  return Buffer.from(Array.from({ length: random.pick(SIZES) }, () => random.below(256)));
}

/** Keeps what it is told, as texts that can be compared. */
class Told implements DecisionReply {
  readonly gone = false;
  text = '';

  answered(response: Uint8Array, overLimit: boolean): void {
    this.text += `${overLimit ? 'over' : 'ok'} ${Buffer.from(response).toString('hex')}`;
  }

  refused(fault: Fault): void {
    this.text += `${fault.code}: ${fault.message}`;
  }
}

t.test('records are read as they were written, whatever they hold (seed 3)', async t => {
  const random = new SeededRandom(3);
  const records = new Records();
  for (let round = 0; round < 40; round++) {
    const written = Array.from({ length: random.below(40) }, () => ({
      kind: random.below(256),
      content: bytes(random),
    }));
    for (const { kind, content } of written) records.add(kind, content);
    let at = 0;
    const read = written.map(() => {
      const kind = records.kindAt(at);
      const start = at + RECORD_HEAD_BYTES;
      at = start + records.sizeAt(at);
      return { kind, content: Buffer.from(records.bytes.subarray(start, at)) };
    });
    if (JSON.stringify(read) !== JSON.stringify(written)) t.strictSame(read, written, `round ${round}`);
    t.equal(at, records.length);
    t.equal(records.count, written.length);
    records.reset();
  }
});

t.test('a batch of answers comes to each reply as it was given, in other memory (seed 4)', async t => {
  const random = new SeededRandom(4);
  const writer = new AnswerWriter();
  const reader = new AnswerReader();
  let memory = new ArrayBuffer(64);
  for (let round = 0; round < 60; round++) {
    const direct = Array.from({ length: random.below(60) }, () => new Told());
    writer.records.take(memory);
    for (const reply of direct) {
      const told = randomAnswer(random);
      told(reply);
      told(writer);
    }
    const { length } = writer.records;
    // Handed to another thread and back.
    memory = structuredClone(writer.records.release());
    const replies = direct.map(() => new Told());
    memory = reader.deliver({ memory, length }, replies, thrown => t.fail(String(thrown)));
    const same = replies.every((reply, i) => reply.text === direct[i].text);
    if (!same) {
      t.strictSame(
        each(replies, 'text'),
        direct.map(reply => reply.text),
      );
    }
  }
});

function randomAnswer(random: SeededRandom): (reply: DecisionReply) => void {
  if (random.below(5) === 0) {
    const codes = words(
      `bad_request unparseable too_large no_rules store_failed overloaded cancelled internal`,
    );
    const fault = new Fault(
      random.pick(codes) as Fault['code'],
      random.pick(['', 'why — “so”', 'x'.repeat(3_000)]),
    );
    return reply => reply.refused(fault);
  }
  const response = bytes(random);
  const overLimit = random.below(2) === 0;
  return reply => reply.answered(response, overLimit);
}

t.test('a reply that throws does not keep the others from their answers', async t => {
  const writer = new AnswerWriter();
  for (const text of ['a', 'b', 'c']) writer.answered(Buffer.from(text), false);
  const { length } = writer.records;
  const replies = [new Told(), new Told(), new Told()];
  replies[1].answered = () => {
    throw new Error('caller is gone');
  };
  const failures: unknown[] = [];
  new AnswerReader().deliver({ memory: writer.records.release(), length }, replies, thrown =>
    failures.push(thrown),
  );
  t.same(each(replies, 'text'), ['ok 61', '', 'ok 63']);
  t.match(failures, [/caller is gone/]);
});

t.test('a refusal keeps the seconds of its `Retry-After`', async t => {
  const writer = new AnswerWriter();
  for (const seconds of [0, 1, 2_800, 2 ** 32 - 1, 2 ** 40])
    writer.answered(Buffer.from('over'), true, seconds);
  const told: unknown[] = [];
  const reply: DecisionReply = {
    gone: false,
    answered: (response, overLimit, seconds = 0) =>
      told.push([Buffer.from(response).toString(), overLimit, seconds]),
    refused: fault => told.push(fault),
  };
  const { records } = writer;
  const { length } = records;
  new AnswerReader().deliver({ memory: records.release(), length }, Array(5).fill(reply), thrown =>
    told.push(thrown),
  );
  t.strictSame(
    told,
    [0, 1, 2_800, 2 ** 32 - 1, 2 ** 32 - 1].map(seconds => ['over', true, seconds]),
  );
});
