/**
 * Owns the stream between `pg` and PGlite's thread, which is a socket to `pg`. What `pg` writes in one go (up to a sync) becomes one
 * message, since PGlite answers message by message.
 */

import { Duplex } from 'node:stream';
import type { PgliteThread, ThreadListener } from './thread.ts';

/** The message by which `pg` ends a session. It is meant for a server; PGlite keeps running. */
const TERMINATE = 'X'.charCodeAt(0);

export class PgliteWire extends Duplex implements ThreadListener {
  readonly #thread: PgliteThread;

  constructor(thread: PgliteThread) {
    super({ allowHalfOpen: false });
    this.#thread = thread;
  }

  /** `connect` as `net.Socket` has it; the address means nothing here. */
  connect(): this {
    this.#thread.listen(this);
    this.#thread.start().then(
      // `pg` may have destroyed the stream by then.
      () => this.destroyed || this.emit('connect'),
      (error: Error) => this.destroy(error),
    );
    return this;
  }

  answer(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  died(error: Error): void {
    this.destroy(error);
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

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#thread.leave(this);
    done(error);
  }

  #send(chunks: readonly Buffer[]): void {
    if (chunks.at(-1)?.[0] === TERMINATE) return;
    const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    this.#thread.send(this, bytes);
  }
}
