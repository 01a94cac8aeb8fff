/**
 * Owns a TCP proxy before one broker, for tests: it can swallow the answers to appends, or hold everything back, so that the outcome of a
 * request is unknown. It names itself in the broker's metadata, so clients stay with it.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { FETCH, PRODUCE } from './wire.ts';

export interface LossyProxy {
  /** `host:port` to give to a client. */
  readonly address: string;
  /** Answers to appends that were swallowed so far. */
  readonly swallowedCount: number;
  /** Requests for records so far. */
  readonly fetchCount: number;
  /** Swallows the answers to this many appends from now on, of those whose request holds the text. */
  swallowAnswers(count: number, text?: string): void;
  /** Ends every connection; accepts new ones. */
  cut(): void;
  close(): Promise<void>;
}

/** Cuts a byte stream into Kafka's frames, each with its length in front. */
function frames(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0);
      onFrame(Buffer.from(rest.subarray(0, end)));
      rest = rest.subarray(end);
    }
  };
}

/** Replaces the broker's own port, which it names as host and port, by the proxy's. */
function rename(frame: Buffer, host: string, from: number, to: number): Buffer {
  const own = Buffer.concat([Buffer.from(host), Buffer.alloc(4)]);
  own.writeInt32BE(from, host.length);
  for (let at = frame.indexOf(own); at >= 0; at = frame.indexOf(own, at + 1)) frame.writeInt32BE(to, at + host.length);
  return frame;
}

export async function startLossyProxy(broker: string): Promise<LossyProxy> {
  const separator = broker.lastIndexOf(':');
  const host = broker.slice(0, separator);
  const port = Number(broker.slice(separator + 1));
  const sockets = new Set<Socket>();
  let toSwallow = 0;
  let wanted = '';
  let swallowedCount = 0;
  let fetchCount = 0;
  const server = createServer((client) => {
    const upstream = connect({ host, port });
    const appends = new Set<number>();
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on(
      'data',
      frames((frame) => {
        if (frame.readInt16BE(4) === PRODUCE.key && frame.includes(wanted)) appends.add(frame.readInt32BE(8));
        if (frame.readInt16BE(4) === FETCH.key) fetchCount++;
        upstream.write(frame);
      }),
    );
    upstream.on(
      'data',
      frames((frame) => {
        if (appends.delete(frame.readInt32BE(4)) && toSwallow > 0) {
          toSwallow--;
          swallowedCount++;
          return;
        }
        client.write(rename(frame, host, port, (server.address() as AddressInfo).port));
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    get swallowedCount() {
      return swallowedCount;
    },
    get fetchCount() {
      return fetchCount;
    },
    swallowAnswers(count, text = '') {
      toSwallow = count;
      wanted = text;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
