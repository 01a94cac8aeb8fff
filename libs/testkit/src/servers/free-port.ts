/**
 * Owns free local ports and the question whether something listens. Must keep no port open.
 */
import { connect, createServer } from 'node:net';
import { UnavailableError } from '@tidemark/core';
import { connectTimeoutMs } from './limits.ts';

/** A port that was free a moment ago. Another process may take it: callers try again with another. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
  });
  return await promise;
}

/** Rejects when nothing accepts a connection there in time. */
export async function assertListening(host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port, timeout: connectTimeoutMs });
  socket.once('connect', resolve);
  socket.once('error', reject);
  socket.once('timeout', () =>
    reject(new UnavailableError('test-server-silent', `no connection in ${connectTimeoutMs} ms`)),
  );
  try {
    await promise;
  } finally {
    socket.destroy();
  }
}
