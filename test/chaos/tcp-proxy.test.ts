/** The proxy's faults, each beside what the same connection does without it. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TcpProxy } from './tcp-proxy.ts';

let accepted: Socket[];
let proxy: TcpProxy;
let serverPort: number;
let closeServer: () => void;

/** An echo that goes on sending after its client's end. */
beforeEach(async () => {
  accepted = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => socket.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = new TcpProxy();
  await proxy.listen();
  serverPort = (server.address() as AddressInfo).port;
  proxy.target(`127.0.0.1:${serverPort}`);
  closeServer = () => {
    for (const socket of accepted) socket.destroy();
    server.close();
  };
});

afterEach(async () => {
  await proxy.close();
  closeServer();
});

interface Client {
  readonly socket: Socket;
  received: string;
  end: 'no' | 'fin' | 'reset';
}

async function client(): Promise<Client> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  const state: Client = { socket, received: '', end: 'no' };
  socket.on('data', (chunk) => {
    state.received += chunk;
  });
  socket.on('end', () => {
    state.end = 'fin';
  });
  socket.on('error', () => {
    state.end = 'reset';
  });
  socket.write('hello ');
  await eventually(() => state.received === 'hello ');
  return state;
}

async function echoed(one: Client, text: string): Promise<void> {
  one.socket.write(text);
  await eventually(() => one.received.endsWith(text));
}

test('carries everything in order while nothing is wrong', async () => {
  const one = await client();
  const text = 'x'.repeat(3_000_000);
  await echoed(one, `${text}.`);
  expect(one.received).toBe(`hello ${text}.`);
  expect(one.end).toBe('no');
  one.socket.end();
  await eventually(() => accepted[0]!.readableEnded);
});

test('cut resets what stands, and takes what comes', async () => {
  const one = await client();
  proxy.cut();
  await eventually(() => one.end === 'reset');
  await client();
});

test('refuse resets what comes, and leaves what stands', async () => {
  const one = await client();
  proxy.refuse(true);
  const other = connect({ port: proxy.port, host: '127.0.0.1' });
  await once(other, 'error');
  await echoed(one, 'still');
  proxy.refuse(false);
  await client();
});

test('delay holds each chunk back for its time, and keeps their order', async () => {
  const one = await client();
  await echoed(one, 'plain');
  proxy.delay(120);
  const from = performance.now();
  one.socket.write('a');
  proxy.delay(100);
  one.socket.write('b');
  await eventually(() => one.received.endsWith('ab'));
  expect(performance.now() - from).toBeGreaterThan(200);
  proxy.delay(0);
  await echoed(one, 'c');
  expect(one.received).toBe('hello plainabc');
});

test('half-close ends one direction alone', async () => {
  const one = await client();
  proxy.halfClose('server');
  await eventually(() => accepted[0]!.readableEnded);
  // The server may go on: only its own reading has ended.
  accepted[0]!.write('after');
  await eventually(() => one.received.endsWith('after'));
  expect(one.end).toBe('no');
  proxy.halfClose('client');
  await eventually(() => one.end === 'fin');
});

test('hold carries and closes nothing until it is let go', async () => {
  const [one, control] = [await client(), await client()];
  proxy.hold();
  one.socket.write('held');
  // Whatever was under way has had time to come: a connection round the proxy is made and answered.
  const direct = connect(serverPort, '127.0.0.1');
  direct.write('direct');
  await once(direct, 'data');
  direct.destroy();
  expect(one.received).toBe('hello ');
  expect(one.end).toBe('no');
  proxy.letGo();
  await eventually(() => one.received === 'hello held');
  await echoed(control, 'free');
});

test('shows what clients send to whoever wants to see it', async () => {
  const seen: string[] = [];
  const watching = new TcpProxy((chunk) => seen.push(chunk.toString()));
  await watching.listen();
  watching.target(`127.0.0.1:${proxy.port}`);
  const socket = connect({ port: watching.port, host: '127.0.0.1' });
  socket.write('worker-1');
  await eventually(() => seen.join('').includes('worker-1'));
  socket.destroy();
  await watching.close();
});
