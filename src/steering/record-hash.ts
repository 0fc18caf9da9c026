import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../base/json.ts';
import { readRecord } from './check-record.ts';
import { MAX_RECORD_BYTES, MAX_RECORDS, recordJson, type SteeringRecord } from './record.ts';
import { inOrder, type RecordsChange } from './records-change.ts';
import type { SendToRedis } from './steering-store.ts';

/** The field of the version, which is no id of a record. */
const VERSION = 'version';

/** What a hash has. */
interface StoredRecords {
  /** Differs after each change; see {@link versionAfter}. Empty for a hash that does not exist. */
  readonly version: string;
  /** In order, at most {@link MAX_RECORDS}. */
  readonly records: readonly SteeringRecord[];
  /** Number of records beyond the maximum, which only other programs can write. */
  readonly ignored: number;
}

/** The hash in Redis that has the records by their ids, and a version. */
export class RecordHash {
  readonly key: string;
  /** The texts that were read last, and their records: most of them are the same after a change. */
  #read: ReadonlyMap<string, SteeringRecord | null> = new Map();

  constructor(key: string) {
    this.key = key;
  }

  /** Rejects as `send`. */
  async version(send: SendToRedis): Promise<string> {
    return String((await send('HGET', [this.key, VERSION])) ?? '');
  }

  /** Reads all records, and leaves out what is none. Rejects as `send`. */
  async read(send: SendToRedis): Promise<StoredRecords> {
    const reply = await send('HGETALL', [this.key]);
    if (!Array.isArray(reply)) throw new Error('unexpected reply to HGETALL');
    const texts = new Map<string, string>();
    for (let i = 0; i + 1 < reply.length; i += 2) texts.set(String(reply[i]), String(reply[i + 1]));
    const version = texts.get(VERSION) ?? '';
    texts.delete(VERSION);
    this.#read = new Map([...texts.values()].map(text => [text, this.#read.get(text) ?? readText(text)]));
    const records = inOrder([...this.#read.values()].filter(record => record !== null));
    return {
      version,
      records: records.slice(0, MAX_RECORDS),
      ignored: Math.max(records.length - MAX_RECORDS, 0),
    };
  }

  /**
   * Makes a change if the hash still has the version `from`, and gives it the version `to`. Returns false if it has another
   * one. Rejects as `send`: an error reply says that nothing was changed.
   */
  async change(
    send: SendToRedis,
    { put, removed }: RecordsChange,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<boolean> {
    const fields = put === null ? [] : [put.id, JSON.stringify(recordJson(put))];
    const words = [from, to, ...fields];
    return (
      (await send('EVAL', [CHANGE_SCRIPT, '1', this.key, String(words.length), ...words, ...removed])) === 1
    );
  }
}

/**
 * Changes a hash if its version is still the expected one. It reads before it writes, and a command that Redis may refuse for
 * lack of memory comes first, because Redis does not undo the commands of a script that fails.
 *
 *     KEYS    the hash
 *     ARGV    number of the next words: the expected version, the new version, and perhaps the id and the text of a record;
 *             then the ids of records that are deleted
 *     returns 1 if it was changed, 0 if it has another version
 */
const CHANGE_SCRIPT = `local words = tonumber(ARGV[1])
if (redis.call('HGET', KEYS[1], '${VERSION}') or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], '${VERSION}', ARGV[3], unpack(ARGV, 4, words + 1))
for i = words + 2, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
return 1`;

/** The version after another one: the number of changes, and a text that no other change has. */
export function versionAfter(version: string): string {
  return `${changesIn(version) + 1}.${randomBytes(12).toString('base64url')}`;
}

/** The number of changes that have led to a version. If it is smaller than before, Redis has lost changes. */
export function changesIn(version: string): number {
  const changes = Number(version.slice(0, Math.max(version.indexOf('.'), 0)));
  return Number.isSafeInteger(changes) && changes > 0 ? changes : 0;
}

function readText(text: string): SteeringRecord | null {
  if (text.length > MAX_RECORD_BYTES) return null;
  try {
    return readRecord(JSON.parse(text) as JsonObject);
  } catch {
    return null;
  }
}
