import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { payloadFields } from './command/payload.ts';
import { onlyArgument, targetOf } from './command/target.ts';
import { callApi, type Json } from './command/tasks-api.ts';
import { TEST_WORKER_FLAGS } from './command/tasks-flags.ts';
import { printJson, printLine } from './command/tasks-output.ts';

/** `sluice tasks workers test NAME` */
export async function testWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, TEST_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const result = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: `/api/v1/workers/${encodeURIComponent(name)}/test`,
    body: {
      ...(flags['push-to'] !== '' && { url: flags['push-to'] }),
      ...payloadFields(flags),
    },
  });
  if (flags.json) printJson(result, io);
  else for (const line of testLines(result)) printLine(line, io);
  return result['outcome'] === 'succeeded' ? EXIT.done : EXIT.refused;
}

/** The request and the response as they are written, and what they mean. */
function testLines(result: Json): string[] {
  const request = result['request'] as Json | null;
  const response = result['response'] as Json | null;
  const error = result['error'] as Json | null;
  const lines: string[] = [];
  if (request !== null) {
    const headers = Object.entries(request['headers'] as Json);
    lines.push(`> ${request['method']} ${request['url']}`);
    lines.push(...headers.map(([name, value]) => `> ${name}: ${value}`), '>');
    lines.push(...bodyLines(request), '');
  }
  if (response !== null) {
    lines.push(`< ${response['status']}`, ...textLines('< ', response['body']));
    lines.push(...(response['truncated'] === true ? ['< (the rest is not shown)', ''] : ['']));
  }
  lines.push(`${result['outcome']} after ${result['duration_ms']} ms`);
  if (error !== null) lines.push(`${error['message']} (${error['code']})`);
  return lines;
}

/** Bytes could be anything to a terminal, so they are shown as they came, in base64. */
function bodyLines(request: Json): string[] {
  const base64 = request['body_base64'];
  return base64 === undefined ? textLines('> ', request['body']) : textLines('> (base64) ', base64);
}

function textLines(prefix: string, text: unknown): string[] {
  return text === ''
    ? []
    : String(text)
        .split('\n')
        .map(line => prefix + line);
}
