/** Owns finding free local ports and checking whether something listens. Must keep no port open. */
import { connect, createServer } from 'node:net';
import { UnavailableError } from '@tidemark/core';
import { connectTimeoutMs, portAttemptsMax, portMax, portMin } from './limits.ts';

/**
 * A port that was free a moment ago. Another process may take it: callers then try another. Never one that the system gives to outgoing
 * connections: those could take the port of a server that is down for a moment, and a client that retries would eventually connect to
 * itself, and keep the server from its port permanently.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    try {
      await listenOnce(port);
      return port;
    } catch (error) {
      if (attempt === portAttemptsMax) throw error;
    }
  }
}

async function listenOnce(port: number): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
  await promise;
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
