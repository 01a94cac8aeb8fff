/**
 * Owns the server on standard input and output, for a client that starts it as its own process. Nothing but the protocol may be written to
 * the output. It ends with its input.
 */

import { type Readable, Transform, type TransformCallback, type Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { InvalidError, JSON_BOUNDS, type JsonBounds, JsonScanner } from '@tidemark/core';
import { MESSAGE_MAX_BYTES } from './limits.ts';
import { type McpOptions, McpSession } from './server.ts';

export interface StdioOptions extends McpOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Ends it. */
  readonly signal: AbortSignal;
}

const LINE_FEED = 0x0a;
/** JSON-RPC's codes. */
const INVALID_REQUEST = -32600;
/** What a message holds is checked where its arguments are; here the keys alone, which can't be told once it is parsed. */
const KEYS_ALONE: JsonBounds = {
  ...{ ...JSON_BOUNDS, exactNumbers: false, keyMaxChars: MESSAGE_MAX_BYTES },
  ...{ valuesMaxCount: MESSAGE_MAX_BYTES, depthMax: MESSAGE_MAX_BYTES, membersMaxCount: MESSAGE_MAX_BYTES },
};

/** Passes lines on, and answers one in which an object has a key twice itself: of such a line only an empty one is passed on. */
class UniqueKeys extends Transform {
  readonly #refuse: (answer: object) => void;
  #scanner = new JsonScanner('The message', KEYS_ALONE);
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isRefused = false;

  constructor(refuse: (answer: object) => void) {
    super();
    this.#refuse = refuse;
  }

  override _transform(chunk: Uint8Array, _: BufferEncoding, done: TransformCallback): void {
    for (let from = 0; from < chunk.length; ) {
      const feed = chunk.indexOf(LINE_FEED, from);
      const end = feed === -1 ? chunk.length : feed + 1;
      this.#take(chunk.subarray(from, end));
      if (feed !== -1) this.#endLine();
      from = end;
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#endLine();
    done();
  }

  #take(piece: Uint8Array): void {
    if (this.#isRefused) return;
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    try {
      // The transport refuses a longer line, without keeping all of it.
      if (this.#heldBytes <= MESSAGE_MAX_BYTES) this.#scanner.push(piece);
      else this.#pass();
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error;
      this.#isRefused = true;
      this.#held = [];
      this.#refuse({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message: error.message } });
    }
  }

  #pass(): void {
    for (const piece of this.#held.splice(0)) this.push(piece);
  }

  #endLine(): void {
    this.#pass();
    this.#isRefused = false;
    this.#heldBytes = 0;
    this.#scanner = new JsonScanner('The message', KEYS_ALONE);
  }
}

/** Resolves once the client is gone, or the signal aborts, and the calls under way have ended. */
export async function serveStdio({ input, output, signal, ...options }: StdioOptions): Promise<void> {
  const session = new McpSession(options);
  const lines = input.pipe(new UniqueKeys((answer) => output.write(`${JSON.stringify(answer)}\n`)));
  const transport = new StdioServerTransport(lines, output, { maxBufferSize: MESSAGE_MAX_BYTES });
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
