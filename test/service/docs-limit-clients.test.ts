import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Child } from '../support/child-process.ts';
import { middlewareCallerMissing, runMiddleware } from '../support/grpc-clients.ts';
import { repositoryRoot } from '../support/repository.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing } from '../support/tools.ts';
import { until } from '../support/until.ts';

// The programs of docs/limit-clients.md. That of Node.js is compiled in limit-client-package.test.ts.

const page = readFileSync(join(repositoryRoot(), 'docs/limit-clients.md'), 'utf8');
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(page)?.[1] ?? '';
const RULES = block('yaml');

const ALLOWED = /^"demo\.user";r=[01];t=\d+$/;
const REJECTED = /^"demo\.user";r=0;t=\d+$/;

t.test('the middleware in Python limits users', { skip: middlewareCallerMissing() }, async t => {
  const service = await serviceFor(t, { rules: RULES });
  const file = join(tempDirectory(t), 'limit.py');
  writeFileSync(file, block('python'));
  const seen = await runMiddleware(file, `http://${service.http}/json`);
  const hello = { status: 201, body: 'hello', headers: { 'x-own': 'yes' } };
  t.match(seen.limited, [
    { ...hello, headers: { ...hello.headers, ratelimit: ALLOWED } },
    { ...hello, headers: { ...hello.headers, ratelimit: ALLOWED } },
    { status: 429, headers: { ratelimit: REJECTED, 'retry-after': /^\d+$/ }, body: /"violated-policies"/ },
    hello,
  ]);
  t.match(seen.allowed, [hello]);
  t.match(seen.denied, [{ status: 503, body: '' }]);
  t.match(seen.wrong, [hello]);
  t.match(seen.notJson, [hello]);
  t.match(seen.errors, [/connect/i, /connect/i, /^Sluice answered with status 404/, /^Expecting value/]);
});

/** The program that the handler of the page is part of. It writes its port, and ends with its input. */
const MAIN = `package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	sluice.Timeout = 30 * time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("port %d\\n", listener.Addr().(*net.TCPAddr).Port)
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		w.Write([]byte("hello"))
	})
	http.Serve(listener, limit(os.Args[1], "demo", byUser, hello))
}
`;

t.test('the handler in Go limits users', { skip: missing('go', 'golang-go') }, async t => {
  const folder = tempDirectory(t);
  writeFileSync(join(folder, 'go.mod'), 'module example/limit\n\ngo 1.18\n');
  writeFileSync(join(folder, 'limit.go'), block('go'));
  writeFileSync(join(folder, 'main.go'), MAIN);
  const env = { PATH: process.env['PATH'], HOME: homedir(), GOTOOLCHAIN: 'local' };
  const go = async (...args: string[]): Promise<string> => {
    const child = new Child({ command: 'go', args, cwd: folder, env });
    t.match(await child.ended, { status: 0 }, child.output);
    return child.output;
  };
  await go('vet', '.');
  await go('build', '-o', 'program', '.');
  const service = await serviceFor(t, { rules: RULES });
  const start = async (url: string) => {
    const program = new Child({ command: join(folder, 'program'), args: [url], env });
    t.teardown(() => program.end('SIGKILL', 0));
    const port = await program.line(line => /^port (\d+)$/.exec(line)?.[1], 30_000);
    const send = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${port}/`, { headers });
    return { program, send };
  };
  const { send } = await start(`http://${service.http}/json`);
  const ann = { 'x-user': 'ann' };
  for (let i = 0; i < 2; i++) {
    const allowed = await send(ann);
    t.match([allowed.status, await allowed.text()], [201, 'hello']);
    t.match(allowed.headers.get('ratelimit'), ALLOWED);
  }
  const rejected = await send(ann);
  t.equal(rejected.status, 429);
  t.match(rejected.headers.get('ratelimit'), REJECTED);
  t.match(rejected.headers.get('retry-after'), /^\d+$/);
  t.match(await rejected.json(), { 'violated-policies': ['demo.user'] });
  t.equal((await send({})).status, 201);

  const away = await start('http://127.0.0.1:1/json');
  t.equal((await away.send(ann)).status, 201);
  await until(() => /There is no decision, so the request is allowed: .*refused/.test(away.program.output));
  const wrong = await start(`http://${service.http}/other`);
  t.equal((await wrong.send(ann)).status, 201);
  await until(() => /Sluice answered with status 404/.test(wrong.program.output));

  // A rejection whose body is no base64, so it is not a decision.
  const broken = createServer((_request, response) =>
    response.end('{"overallCode":"OVER_LIMIT","rawBody":"?"}'),
  );
  broken.listen(0, '127.0.0.1');
  await once(broken, 'listening');
  t.teardown(() => broken.close());
  const half = await start(`http://127.0.0.1:${(broken.address() as AddressInfo).port}/json`);
  t.equal((await half.send(ann)).status, 201);
  await until(() => /so the request is allowed: Sluice answered with status 200/.test(half.program.output));
});
