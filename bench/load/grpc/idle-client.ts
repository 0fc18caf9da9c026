import { connect, type Socket } from 'node:net';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { PREFACE } from '../../../src/http2/connection/partial-input.ts';
import { writeSettings, writeSettingsAck } from '../../../src/http2/frame/control.ts';
import { FLAG, FRAME } from '../../../src/http2/frame/frame.ts';
import { answerBench } from '../../support/control-channel.ts';
import { FrameReader } from '../../support/frame-reader.ts';

/** How many connections are under way at a time: fewer than servers queue unaccepted. */
const AT_A_TIME = 128;

/** What the bench asks the process that holds the connections. Node.js raises the bound of open files by itself. */
export type IdleClientAnswers = {
  /** Opens connections and resolves once each has exchanged SETTINGS with the server. */
  readonly open: (wanted: { readonly port: number; readonly count: number }) => Promise<void>;
  /** How many of them the server has closed. */
  readonly lost: () => number;
};

let lost = 0;

async function open({ port, count }: { readonly port: number; readonly count: number }): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left--;
      await greet(port);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

/** Resolves once the server's SETTINGS are acknowledged, and ours by the server (RFC 9113, 6.5.3). */
function greet(port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ port, host: '127.0.0.1' });
  const reader = new FrameReader();
  const out = new ByteWriter();
  out.copy(PREFACE, 0, PREFACE.length);
  writeSettings(out, []);
  socket.write(out.take());
  socket.on('error', error => reject(new Error(`${error.message}${adviceOn(error)}`)));
  socket.on('close', () => {
    lost++;
    reject(new Error('the server closed an idle connection'));
  });
  socket.on('data', chunk =>
    reader.read(chunk, ({ type, flags }) => {
      if (type !== FRAME.settings) return;
      if ((flags & FLAG.ack) !== 0) resolve();
      else acknowledge(socket);
    }),
  );
  return promise;
}

function acknowledge(socket: Socket): void {
  const out = new ByteWriter(16);
  writeSettingsAck(out);
  socket.write(out.take());
}

function adviceOn(error: NodeJS.ErrnoException): string {
  if (error.code === 'EMFILE' || error.code === 'ENFILE')
    return ': too many open files; allow more (ulimit -n 16384) and run this again';
  if (error.code === 'EADDRNOTAVAIL') return ': no free ports are left; wait a minute and run this again';
  return '';
}

const answers: IdleClientAnswers = { open, lost: () => lost };
answerBench(null, answers);
