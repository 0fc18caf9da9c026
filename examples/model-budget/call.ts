import { randomUUID } from 'node:crypto';

const {
  SLUICE_JSON = 'http://localhost:8080/json',
  MODEL_URL = 'http://localhost:9000/v1/chat/completions',
  MAX_TOKENS = '1000',
  EXTEND_MS = '60000',
} = process.env;

const [user, prompt] = process.argv.slice(2);
if (prompt === undefined) {
  console.error('Usage: call.js USER PROMPT');
  process.exit(2);
}

/** The name of the lease. Each call of the model has its own. */
const id = randomUUID();

/** Asks Sluice about the tokens of the user, and about one of the slots of the user. Returns whether it agrees. */
async function lease(action: 'reserve' | 'extend' | 'settle' | 'release', tokens = 0): Promise<boolean> {
  const descriptor = (key: string, hitsAddend: number) => ({
    entries: [{ key, value: user }],
    hitsAddend,
    lease: { id, action },
  });
  const body = { domain: 'ai', descriptors: [descriptor('user', tokens), descriptor('running', 1)] };
  const { status } = await fetch(SLUICE_JSON, { method: 'POST', body: JSON.stringify(body) });
  if (status !== 200 && status !== 429) throw new Error(`Sluice has answered with status ${status}`);
  return status === 200;
}

/** Ends the lease. A settlement that is repeated counts once, so it can be tried again if the answer was lost. */
async function end(tokens: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await lease(tokens > 0 ? 'settle' : 'release', tokens);
      return;
    } catch (failure) {
      if (attempt === 3) throw failure;
    }
  }
}

/** The data of the events of a stream. */
async function* events(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() as string;
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length);
  }
}

/** Prints the answer of the model. Counts what it has used, which is at least a token for each event. */
async function ask(used: { tokens: number }): Promise<void> {
  const response = await fetch(MODEL_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: prompt }],
      max_tokens: Number(MAX_TOKENS),
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  if (!response.ok) throw new Error(`the model has answered with status ${response.status}`);
  for await (const data of events(response.body as AsyncIterable<Uint8Array>)) {
    if (data === '[DONE]') return;
    const { choices, usage } = JSON.parse(data);
    process.stdout.write(choices[0]?.delta.content ?? '');
    used.tokens = usage?.total_tokens ?? used.tokens + 1;
  }
  throw new Error('the stream has ended in the middle');
}

if (!(await lease('reserve', Number(MAX_TOKENS)))) {
  console.error('The budget is used up, or too many calls are in progress. Try again later.');
  process.exit(1);
}
const extending = setInterval(() => {
  lease('extend').catch(failure => console.error(`Could not extend the lease: ${failure.message}`));
}, Number(EXTEND_MS));
const used = { tokens: 0 };
try {
  await ask(used);
  process.stdout.write('\n');
} catch (failure) {
  console.error(`The call has failed: ${(failure as Error).message}`);
  process.exitCode = 1;
} finally {
  clearInterval(extending);
  await end(used.tokens);
}
