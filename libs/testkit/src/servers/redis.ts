/**
 * Owns obtaining a test Redis: its container image, its native start, its ping. Persistence is off, so a kill flushes it: whatever Tidemark
 * keeps there must be safe to lose (I6).
 */
import { connect } from 'node:net';
import { UnavailableError } from '@tidemark/core';
import { connectTimeoutMs } from './limits.ts';
import { startNativeServer } from './native-server.ts';
import { requireProgram } from './programs.ts';
import { pingSecured, type SecuredBy, securedFiles } from './securing.ts';
import type { DataIn, NativeServer } from './server.ts';

export const redisImage = 'redis:7.4-alpine';

export async function startNativeRedis(dataIn: DataIn, secured?: SecuredBy): Promise<NativeServer> {
  const program = await requireProgram('redis-server', {
    'apt-get': ['redis-server'],
    dnf: ['redis'],
    apk: ['redis'],
  });
  if (program === undefined) throw new UnavailableError('test-server-missing', 'no redis-server in PATH');
  return await startNativeServer(
    {
      kind: 'redis',
      portCount: 1,
      address: (port) => `${secured === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}`,
      ping: (port) =>
        secured === undefined
          ? pingRedis(`redis://127.0.0.1:${port}`)
          : pingSecured(port, secured, Buffer.from('PING\r\n')),
      prepare: async (folder, [port]) => ({
        command: program,
        args: [
          ...(await listening(folder, port ?? 0, secured)),
          '--bind',
          '127.0.0.1',
          '--dir',
          folder,
          '--save',
          '',
          '--appendonly',
          'no',
        ],
        folder,
      }),
    },
    dataIn,
  );
}

async function listening(folder: string, port: number, secured: SecuredBy | undefined): Promise<readonly string[]> {
  if (secured === undefined) return ['--port', String(port)];
  const { ca, cert, key } = await securedFiles(folder, secured);
  const files = ['--tls-ca-cert-file', ca, '--tls-cert-file', cert, '--tls-key-file', key];
  return ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'yes', ...files];
}

/** Rejects when no Redis answers at the address; one that requires a password counts. */
export async function pingRedis(address: string): Promise<void> {
  const url = new URL(address);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host: url.hostname, port: Number(url.port || 6379), timeout: connectTimeoutMs });
  socket.once('connect', () => socket.write('PING\r\n'));
  socket.once('data', (answer) => {
    const said = answer.toString('latin1');
    if (said.startsWith('+PONG') || said.startsWith('-NOAUTH')) resolve();
    else reject(new UnavailableError('test-server-foreign', 'what answers is not a ready Redis'));
  });
  socket.once('error', reject);
  socket.once('timeout', () => reject(new UnavailableError('test-server-silent', 'no answer to PING')));
  try {
    await promise;
  } finally {
    socket.destroy();
  }
}
