import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { JsonFault } from '../../../src/messages/json-fault.ts';
import { jsonToRequest } from '../../../src/messages/json-request.ts';
import { Draws } from './draws.ts';
import { decodedRequest, modelledRequest } from './json-model.ts';
import { mutated, randomDocument } from './random-documents.ts';

/** What stands in the writer before every call, and must still stand there after it. */
const BEFORE = Buffer.from('before');

/** The request that a document holds, or null when it is refused; throws when a refusal breaks its own rules. */
function outcome(body: Uint8Array): object | null {
  const writer = new ByteWriter(BEFORE.length);
  writer.copy(BEFORE, 0, BEFORE.length);
  let refused = false;
  try {
    jsonToRequest(body, writer);
  } catch (thrown) {
    if (!(thrown instanceof JsonFault)) throw thrown;
    if (thrown.offset < 0 || thrown.offset > body.length) throw new Error(`a fault at byte ${thrown.offset}`);
    if (thrown.message.length > 400) throw new Error('a fault that repeats the document');
    refused = true;
  }
  const written = writer.view();
  if (!BEFORE.equals(written.subarray(0, BEFORE.length))) throw new Error('the bytes before were changed');
  if (refused && written.length !== BEFORE.length) throw new Error('a refused document left bytes behind');
  return refused ? null : decodedRequest(written.subarray(BEFORE.length));
}

function modelOutcome(body: Uint8Array): object | null {
  try {
    return modelledRequest(body);
  } catch {
    return null;
  }
}

t.test('random correct documents give the request that protobufjs makes of them', async t => {
  const wrong: string[] = [];
  for (let seed = 1; seed <= 500; seed++) {
    const text = randomDocument(new Draws(seed));
    const body = Buffer.from(text);
    if (!isDeepStrictEqual(outcome(body), modelledRequest(body))) wrong.push(text);
  }
  t.same(wrong, []);
});

t.test('random damaged documents are refused with a fault exactly when the mapping refuses them', async t => {
  const wrong: string[] = [];
  let accepted = 0;
  let refused = 0;
  for (let seed = 1; seed <= 1500; seed++) {
    const draws = new Draws(seed);
    const body = mutated(draws, Buffer.from(randomDocument(draws)));
    const got = outcome(body);
    if (got === null) refused++;
    else accepted++;
    if (!isDeepStrictEqual(got, modelOutcome(body))) wrong.push(Buffer.from(body).toString('latin1'));
  }
  t.same(wrong, []);
  t.ok(accepted > 75 && refused > 750, `both kinds were met: ${accepted} accepted, ${refused} refused`);
});

t.test('random bytes are refused with a fault, alone and as a value', async t => {
  const accepted: string[] = [];
  for (let seed = 1; seed <= 750; seed++) {
    const draws = new Draws(seed);
    const bytes = Buffer.from(draws.list(40, () => draws.number(256)));
    const asDomain = Buffer.concat([Buffer.from('{"domain":'), bytes, Buffer.from('}')]);
    if (outcome(bytes) !== null || outcome(asDomain) !== null) accepted.push(bytes.toString('hex'));
  }
  t.same(accepted, []);
});
