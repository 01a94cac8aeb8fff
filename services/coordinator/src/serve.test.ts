/** A coordinator is where its callers expect it, or it is not at all. */

import { createServer } from 'node:net';
import { DEFAULT_PORT } from '@tidemark/api';
import { apiConfigFromEnv } from '@tidemark/host';
import { noTelemetry } from '@tidemark/ports';
import { sha256Digest, systemClock } from '@tidemark/runtime';
import { expect, it } from 'vitest';
import { serveApi } from './serve.ts';

it('ends where its port is taken, rather than to leave the keys of its callers to whoever has it', async () => {
  // Whether by this test or by anybody else.
  const other = createServer().listen({ host: '127.0.0.1', port: DEFAULT_PORT });
  await new Promise((resolve) => other.once('listening', resolve).once('error', resolve));
  const ports = { clock: systemClock, digest: sha256Digest, store: {}, telemetry: noTelemetry };
  const host = { ports, client: { memory: {} } } as never;
  const config = { workflowModules: [], tls: {} } as never;
  try {
    const serving = serveApi(host, config, apiConfigFromEnv({ TIDEMARK_AUTH: 'off' }), () => {});
    await expect(serving).rejects.toMatchObject({ name: 'ConfigError', code: 'port-taken' });
  } finally {
    other.close();
  }
});
