/** Messages over standard input in which an object has a key twice, and others, however they come in pieces. */

import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { serveStdio } from './stdio.ts';

const initialize = (id: number, more = ''): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"${more}}}}`;

it.each([1, 7, 100_000])('are refused and not taken by their last key, in pieces of %i bytes', async (size) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const serving = serveStdio({
    ...{ input, output, signal: AbortSignal.timeout(60_000), tools: [], version: '1', onError: () => {} },
  } as never);
  const twice = initialize(1, ',"n\\u0061me":"u"');
  const text = Buffer.from(`${twice}\n${initialize(2)}\n`);
  for (let at = 0; at < text.length; at += size) input.write(text.subarray(at, at + size));
  const answers: unknown[] = [];
  let came = '';
  for await (const piece of output) {
    came += String(piece);
    answers.push(
      ...came
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    );
    came = came.slice(came.lastIndexOf('\n') + 1);
    if (answers.length === 2) break;
  }
  expect(answers).toMatchObject([
    { id: null, error: { code: -32600, message: expect.stringContaining('stands in its object already') } },
    { id: 2, result: { serverInfo: {} } },
  ]);
  input.end();
  await serving;
});
