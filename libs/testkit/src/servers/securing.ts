/** Owns what test servers that use nothing but TLS share: their files, and the check that they answer. */

import { copyFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { connect } from 'node:tls';
import { UnavailableError } from '@tidemark/core';
import { connectTimeoutMs } from './limits.ts';
import type { CertificateFiles } from './throw-away-authority.ts';

/** The server's certificate, its authority, and a client's own for the ping. Paths. */
export interface SecuredBy {
  readonly ca: string;
  readonly server: CertificateFiles;
  readonly client: CertificateFiles;
}

/** Copies of the files in the server's own folder, where its user may read them. */
export async function securedFiles(folder: string, { ca, server }: SecuredBy) {
  const to = {
    ca: path.join(folder, 'ca.pem'),
    cert: path.join(folder, 'server.pem'),
    key: path.join(folder, 'server.key'),
  };
  await copyFile(ca, to.ca);
  await copyFile(server.cert, to.cert);
  await copyFile(server.key, to.key);
  return to;
}

/** Rejects unless what listens there shows a certificate of the authority, takes the client's, and answers these bytes. */
export async function pingSecured(port: number, { ca, client }: SecuredBy, say?: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({
    ...{ host: '127.0.0.1', port, timeout: connectTimeoutMs },
    ca: await readFile(ca),
    cert: await readFile(client.cert),
    key: await readFile(client.key),
  });
  socket.once('secureConnect', () => (say === undefined ? resolve() : socket.write(say)));
  socket.once('data', () => resolve());
  socket.once('error', reject);
  socket.once('close', () => reject(new UnavailableError('test-server-foreign', 'it closed the connection')));
  socket.once('timeout', () => reject(new UnavailableError('test-server-silent', 'no answer')));
  try {
    await promise;
  } finally {
    socket.destroy();
  }
}
