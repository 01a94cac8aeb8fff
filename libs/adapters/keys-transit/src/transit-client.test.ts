/** Owns the tests of masking: a server that quotes its requests reveals neither the token nor the data key. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { TransitClient } from './transit-client.ts';
import { TokenSource } from './transit-token.ts';

it('what was sent is masked in the words of a refusal', async () => {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const quoted = `bad request of ${request.headers['x-vault-token']}: ${Buffer.concat(parts)}`;
    response.writeHead(400).end(JSON.stringify({ errors: [quoted] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const tokens = new TokenSource({ token: 'hvs.token-of-ours' });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new TransitClient({ address, tokens, attemptsMax: 1 });
  const plaintext = Buffer.alloc(32, 7).toString('base64');
  const asked = client.ask({ path: 'transit/encrypt/k', body: { plaintext }, answer: z.unknown(), where: 'k' });
  const reported = JSON.stringify(await asked.catch((error: Error) => [error.message, error]));
  expect(reported).toContain('bad request of [masked]: ');
  expect(reported).not.toMatch(/hvs\.token|BwcHBwcH/);
});
