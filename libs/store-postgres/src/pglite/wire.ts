/**
 * Owns the stream between `pg` and PGlite's thread: to `pg` it is a socket. What `pg` writes in one go (up to a sync)
 * becomes one message, since PGlite answers message by message.
 */

import { Duplex } from 'node:stream';
import type { PgliteThread } from './thread.ts';

export class PgliteWire extends Duplex {
  readonly #thread: PgliteThread;

  constructor(thread: PgliteThread) {
    super({ allowHalfOpen: false });
    this.#thread = thread;
  }

  /** As of `net.Socket`; the address means nothing here. */
  connect(): this {
    this.#thread.listen({
      answer: (bytes) => this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
      died: (error) => this.destroy(error),
    });
    this.#thread.start().then(
      () => this.emit('connect'),
      (error: Error) => this.destroy(error),
    );
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send([chunk]);
    done();
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(chunks.map(({ chunk }) => chunk));
    done();
  }

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  #send(chunks: readonly Buffer[]): void {
    const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    this.#thread.send(bytes);
  }
}
