import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Answer, errorAnswer, textAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Route } from '../http/routes.ts';
import { encodePprof } from './pprof.ts';
import type { ProfileKind, ProfileRecorder, Recording } from './profiler.ts';

const MAX_SECONDS = 300;

const STOPPING = errorAnswer({
  code: 'stopping',
  message: 'the service is shutting down and no longer takes profiles',
});

const compress = promisify(gzip);

/** `/debug/pprof/`: lists the profiles and explains how to request them. */
export function profileIndexRoute(kinds: readonly ProfileKind[]): Route {
  const lines = kinds.map(kind => `/debug/pprof/${kind.name}?seconds=${kind.defaultSeconds}: ${kind.help}\n`);
  const jsonFormats = kinds.map(kind => `${kind.name}?format=${kind.jsonFormat}`).join(', ');
  const page =
    `${lines.join('')}\nseconds: 1 to ${MAX_SECONDS}. Answers are gzipped pprof: open one with "go tool pprof URL".\n` +
    `For Chrome DevTools: ${jsonFormats}.\n`;
  return {
    path: '/debug/pprof/',
    method: 'GET or POST',
    help: 'the available profiles',
    handle: exchange => exchange.answer(textAnswer(page)),
  };
}

/** `/debug/pprof/<kind>?seconds=N&format=F`: takes a profile and answers when it has finished. */
export function profileRoute(recorder: ProfileRecorder): Route {
  const { kind } = recorder;
  const busy = errorAnswer({
    code: 'conflict',
    message: `a ${kind.name} profile is already in progress; retry when it has finished`,
  });
  return {
    path: `/debug/pprof/${kind.name}`,
    method: 'GET or POST',
    help: kind.help,
    handle: (exchange, request) => {
      const wanted = readProfileRequest(kind, new URLSearchParams(request.query));
      if (typeof wanted === 'string') {
        exchange.answer(errorAnswer({ code: 'bad_request', message: wanted }));
      } else if (recorder.busy) {
        exchange.answer(busy);
      } else {
        answerProfile(exchange, recorder, wanted).catch(thrown => exchange.fail(thrown));
      }
    },
  };
}

interface ProfileRequest {
  readonly seconds: number;
  readonly format: 'pprof' | 'json';
}

/** Parses the query. Returns an error message if it is not valid. */
function readProfileRequest(kind: ProfileKind, query: URLSearchParams): ProfileRequest | string {
  const [seconds, format] = [query.get('seconds'), query.get('format')];
  const count = seconds === null ? kind.defaultSeconds : Number(seconds);
  if (seconds !== null && (!/^\d{1,3}$/.test(seconds) || count < 1 || count > MAX_SECONDS)) {
    return `seconds must be a whole number from 1 to ${MAX_SECONDS}`;
  }
  if (format === null || format === 'pprof') return { seconds: count, format: 'pprof' };
  if (format === kind.jsonFormat) return { seconds: count, format: 'json' };
  return `format must be pprof (the default) or ${kind.jsonFormat}`;
}

async function answerProfile(
  exchange: Exchange,
  recorder: ProfileRecorder,
  wanted: ProfileRequest,
): Promise<void> {
  const gone = new AbortController();
  exchange.onGone(() => gone.abort());
  const recording = await recorder.record(wanted.seconds, gone.signal);
  // If the caller has disconnected, this writes nothing.
  if (recording === null) return exchange.answer(STOPPING);
  const { name, jsonFormat } = recorder.kind;
  if (wanted.format === 'json') {
    const body = recording.profile.json();
    exchange.answer(download({ file: `${name}.${jsonFormat}`, contentType: 'application/json', body }));
  } else {
    const body = await compressedPprof(recording);
    exchange.answer(download({ file: `${name}.pb.gz`, contentType: 'application/octet-stream', body }));
  }
}

function compressedPprof({ profile, startedAtMs, durationMs }: Recording): Promise<Uint8Array> {
  return compress(encodePprof({ ...profile.callTree(), startedAtMs, durationMs }));
}

function download(content: {
  readonly file: string;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}): Answer {
  const headers = { 'Content-Disposition': `attachment; filename="${content.file}"` };
  return { status: '200 OK', contentType: content.contentType, headers, body: content.body };
}
