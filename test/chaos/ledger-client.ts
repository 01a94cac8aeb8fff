/**
 * Owns one process's connection to the ledger. A call is written to the socket at once, within the caller's own turn: between
 * the runtime's last look at the clock and the bytes' way out nothing is awaited, as docs/guarantees.md asks of effects.
 */

import { connect, type Socket } from 'node:net';
import { NotDoneError, UnavailableError } from '@tidemark/sdk';
import type { Application, Found, Receiver } from './ledger.ts';
import { type Answer, lines, type Numbered, type Question } from './ledger-protocol.ts';

export class LedgerClient {
  readonly #port: number;
  readonly #open = new Map<number, PromiseWithResolvers<Answer>>();
  #socket: Socket | undefined;
  #ready: Promise<void> | undefined;
  #lastNumber = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** Resolves when calls can go out at once. */
  async connected(): Promise<void> {
    this.#ready ??= this.#connect();
    await this.#ready;
  }

  /** Throws `NotDoneError` when it certainly was not applied. Any other error says nothing. */
  async apply(effect: Application, signal: AbortSignal): Promise<number> {
    const socket = this.#socket;
    if (socket === undefined || !socket.writable) throw new NotDoneError('No connection to the ledger.');
    const answer = await this.#ask(socket, { do: 'apply', effect, pid: process.pid }, signal);
    if (answer.said === 'refused') throw new NotDoneError(answer.why);
    if (answer.said !== 'receipt') throw new UnavailableError('ledger-odd', `The ledger said ${answer.said}.`);
    return answer.receipt;
  }

  /** What was applied under the key; undefined when nothing was. */
  async find(receiver: Receiver, key: string, asPerson: boolean, signal?: AbortSignal): Promise<Found | undefined> {
    await this.connected();
    const answer = await this.#ask(this.#socket!, { do: 'find', receiver, key, asPerson }, signal);
    if (answer.said === 'refused') throw new UnavailableError('ledger-refused', answer.why);
    return answer.said === 'found' ? { receipt: answer.receipt, action: answer.action } : undefined;
  }

  /** From now on every call is answered, and quickly. */
  async calm(): Promise<void> {
    await this.connected();
    await this.#ask(this.#socket!, { do: 'calm' });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #ask(socket: Socket, question: Question, signal?: AbortSignal): Promise<Answer> {
    const n = ++this.#lastNumber;
    const answer = Promise.withResolvers<Answer>();
    this.#open.set(n, answer);
    socket.write(`${JSON.stringify({ n, ...question })}\n`);
    const giveUp = (): void => answer.reject(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    return answer.promise.finally(() => {
      this.#open.delete(n);
      signal?.removeEventListener('abort', giveUp);
    });
  }

  async #connect(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(this.#port, '127.0.0.1', resolve);
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.on('close', () => this.#lost());
    socket.on(
      'data',
      lines((line) => {
        const answer = JSON.parse(line) as Numbered<Answer>;
        this.#open.get(answer.n)?.resolve(answer);
      }),
    );
    await promise;
    // It alone keeps no process alive.
    socket.unref();
    this.#socket = socket;
  }

  #lost(): void {
    this.#socket = undefined;
    this.#ready = undefined;
    const error = new UnavailableError('ledger-lost', 'The connection to the ledger is gone.');
    for (const answer of this.#open.values()) answer.reject(error);
  }
}
