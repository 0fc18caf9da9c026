import { printable } from '../../base/printable.ts';
import { CommandFault } from '../terminal/io.ts';
import { debugPortUrl, type Json, parsedObject } from './operator-call.ts';

/** An event of the operator's API. */
interface OperatorEvent {
  readonly name: string;
  readonly data: Json;
}

/** The service sends an event each second. After this long without one, the connection counts as lost. */
const SILENCE_MS = 10_000;

/** More than the largest event; a service that sends more without ending an event is not Sluice. */
const MAX_EVENT_CHARACTERS = 4_000_000;

/**
 * The events of `GET /api/v1/events`, until the connection is lost.
 *
 * @param address `host:port` of the debug port
 * @throws CommandFault if there is no stream of events at the address; Error if the connection is lost
 */
export async function* operatorEvents(address: string): AsyncGenerator<OperatorEvent> {
  const url = debugPortUrl(address, '/api/v1/events');
  const end = new AbortController();
  const lost = () => end.abort(new Error(`no event for ${SILENCE_MS / 1_000} seconds`));
  let timer = setTimeout(lost, SILENCE_MS);
  try {
    const response = await fetch(url, { signal: end.signal, headers: { accept: 'text/event-stream' } });
    if (response.status !== 200 || response.body === null) throw await refusal(response, address);
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = setTimeout(lost, SILENCE_MS);
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() as string;
      if (text.length > MAX_EVENT_CHARACTERS) throw new Error('an event is too long');
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== null) yield event;
      }
    }
    throw new Error('the service has closed the connection');
  } finally {
    clearTimeout(timer);
    end.abort();
  }
}

async function refusal(response: Response, address: string): Promise<Error> {
  const detail = parsedObject(await response.text())?.['detail'];
  if (response.status === 503 && typeof detail === 'string') return new Error(printable(detail));
  if (response.status === 421 && typeof detail === 'string') {
    return new CommandFault(`${address} refused: ${printable(detail)}`);
  }
  return new CommandFault(
    `${address} has no events (HTTP status ${response.status}). Is it the debug port of a Sluice of this version? ` +
      'Change the address with --debug-address.',
  );
}

/** Comments and unknown fields are skipped (WHATWG HTML, 9.2.6). */
function eventOf(block: string): OperatorEvent | null {
  const found = /^event: (.+)\ndata: (.+)$/.exec(block);
  return found === null ? null : { name: found[1], data: JSON.parse(found[2]) as Json };
}
