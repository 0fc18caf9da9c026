import { App, us_socket_local_port } from 'uWebSockets.js';
import { answerBench } from '../../support/control-channel.ts';

/*
 * The least that uWebSockets.js does for a request with a body: the body is read and not looked at, and the answer always
 * has the same text, which is as long as that of a decision. What `/json` takes above this is its own.
 */

export interface HelloReady {
  readonly pid: number;
  readonly port: number;
}

const ANSWER = 'hello world '.repeat(14);

App()
  .post('/json', response => {
    response.onAborted(() => {});
    response.onData((_, isLast) => {
      if (isLast) response.end(ANSWER);
    });
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket === false) throw new Error('no port is free');
    const ready: HelloReady = { pid: process.pid, port: us_socket_local_port(socket) };
    answerBench(ready, {});
  });
