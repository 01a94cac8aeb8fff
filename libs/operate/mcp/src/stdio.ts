/**
 * Owns the server on standard input and output, for a client that starts it as its own process. Nothing but the protocol may be written to
 * the output. It ends with its input.
 */

import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { MESSAGE_MAX_BYTES } from './limits.ts';
import { type McpOptions, McpSession } from './server.ts';

export interface StdioOptions extends McpOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Resolves once the client is gone, or the signal aborts, and the calls under way have ended. */
export async function serveStdio({ input, output, signal, ...options }: StdioOptions): Promise<void> {
  const session = new McpSession(options);
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MESSAGE_MAX_BYTES });
  const ended = Promise.withResolvers<void>();
  const end = (): void => ended.resolve();
  input.once('end', end);
  input.once('close', end);
  signal.addEventListener('abort', end, { once: true });
  await session.connect(transport);
  // The protocol has a handler of its own, which closes.
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    end();
  };
  if (signal.aborted) end();
  await ended.promise;
  await session.close();
}
