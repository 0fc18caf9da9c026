import { parseFlags } from '../flags.ts';
import { type CliIo, EXIT } from '../io.ts';
import { payloadOf } from './create-task.ts';
import { onlyArgument, targetOf } from './target.ts';
import { callApi, type Json } from './tasks-api.ts';
import { TEST_WORKER_FLAGS } from './tasks-flags.ts';
import { printJson, printLine } from './tasks-output.ts';

/** `sluice tasks workers test NAME` */
export async function testWorker(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, TEST_WORKER_FLAGS);
  const name = onlyArgument(positionals, 'name of the worker');
  const result = await callApi(targetOf(flags, io), {
    method: 'POST',
    path: `/api/v1/workers/${encodeURIComponent(name)}/test`,
    body: {
      ...(flags['push-to'] !== '' && { url: flags['push-to'] }),
      ...(flags.payload !== '' && { payload: payloadOf(flags.payload) }),
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
    lines.push(...textLines('> ', request['body']), '');
  }
  if (response !== null) {
    lines.push(`< ${response['status']}`, ...textLines('< ', response['body']));
    lines.push(...(response['truncated'] === true ? ['< (the rest is not shown)', ''] : ['']));
  }
  lines.push(`${result['outcome']} after ${result['duration_ms']} ms`);
  if (error !== null) lines.push(`${error['message']} (${error['code']})`);
  return lines;
}

function textLines(prefix: string, text: unknown): string[] {
  return text === ''
    ? []
    : String(text)
        .split('\n')
        .map(line => prefix + line);
}
