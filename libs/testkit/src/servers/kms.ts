/**
 * Owns obtaining a test AWS KMS: moto's server, from PyPI, once, into `.cache`. It binds ciphertexts to their context as KMS does, but
 * accepts any credentials, never throttles, and encrypts with disabled keys: tests of these produce the answers themselves.
 */
import { UnavailableError } from '@tidemark/core';
import { connectTimeoutMs } from './limits.ts';
import { startNativeServer } from './native-server.ts';
import { installedPackages } from './python.ts';
import type { DataIn, NativeServer } from './server.ts';

const VERSION = '5.2.5';
/** The server without the services that need more. */
const PACKAGES = [`moto[kms]==${VERSION}`, 'flask==3.1.3', 'flask-cors==6.0.5'];

export async function startNativeKms(dataIn: DataIn): Promise<NativeServer> {
  const { python, folder: packages } = await installedPackages('moto', { name: `moto-${VERSION}`, packages: PACKAGES });
  return await startNativeServer(
    {
      kind: 'kms',
      portCount: 1,
      address: (port) => `http://127.0.0.1:${port}`,
      ping: (port) => pingKms(`http://127.0.0.1:${port}`),
      prepare: async (folder, [port]) => ({
        command: python,
        args: ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
        env: { PYTHONPATH: packages },
        folder,
      }),
    },
    dataIn,
  );
}

/** Rejects when no KMS answers at the address. */
export async function pingKms(address: string): Promise<void> {
  const answer = await fetch(address, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'TrentService.ListKeys',
      // What moto needs to know which service is meant; nobody checks it.
      authorization: 'AWS4-HMAC-SHA256 Credential=test/20200101/us-east-1/kms/aws4_request',
    },
    body: '{}',
    signal: AbortSignal.timeout(connectTimeoutMs),
  });
  const said = await answer.text();
  if (answer.ok && said.includes('"Keys"')) return;
  throw new UnavailableError('test-server-foreign', `what answers (${answer.status}) is not a ready KMS`);
}
