/** Owns the caller's side of a state folder's socket: a desk whose every call is answered by the process that holds the folder. */

import { connect, type Socket } from 'node:net';
import type { DefinitionCard } from '@tidemark/api/shapes';
import {
  ConfigError,
  ConflictError,
  CorruptError,
  InvalidError,
  type Lease,
  LimitError,
  TidemarkError,
  UnavailableError,
} from '@tidemark/core';
import { SOCKET_GREETING_MS } from '../limits.ts';
import { ACCESS_CALLS, type CommandAccess } from './access-desk.ts';
import { ARCHIVE_CALLS, type CommandArchive } from './archive-desk.ts';
import {
  type Desk,
  type Health,
  type Holder,
  type News,
  type NewsListener,
  type Place,
  READS,
  type Reads,
  type SignalRequest,
  type StartAnswer,
  type StartRequest,
} from './desk.ts';
import { type CommandKeys, KEY_CALLS } from './keys-desk.ts';
import { type CommandMemory, MEMORY_CALLS } from './memory-desk.ts';
import { type CommandPast, PAST_CALLS } from './past-desk.ts';
import {
  type Answer,
  type ErrorNote,
  type Greeting,
  readLines,
  resolveSocket,
  SOCKET_VERSION,
  writeLine,
} from './socket-lines.ts';

/**
 * Connects to whoever holds the folder; undefined when nobody answers there. Throws `ConfigError` (`holder-silent`,
 * `holder-differs`).
 */
export async function connectSocket(folder: string, shown: string): Promise<SocketDesk | undefined> {
  const socket = connect(await resolveSocket(folder));
  const connected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  if (!connected) return undefined;
  socket.on('error', () => {}); // `close` follows, and fails what waits
  const greeted = Promise.withResolvers<Greeting | undefined>();
  let receive = (line: unknown): void => greeted.resolve(line as Greeting);
  readLines(socket, (line) => receive(line));
  socket.once('close', () => greeted.resolve(undefined));
  const timer = setTimeout(() => {
    const message = `A process holds ${shown} but does not answer on its socket. Wait for it, or end it.`;
    greeted.reject(new ConfigError('holder-silent', message));
    socket.destroy();
  }, SOCKET_GREETING_MS);
  const greeting = await greeted.promise.finally(() => clearTimeout(timer));
  if (greeting === undefined) return undefined;
  if (greeting.tidemark !== SOCKET_VERSION) {
    socket.destroy();
    const message = `Process ${greeting.pid} holds ${shown} and is of another version of Tidemark: use the same one, or end it.`;
    throw new ConfigError('holder-differs', message, { pid: greeting.pid });
  }
  const desk = new SocketDesk(socket, shown, { pid: greeting.pid, command: greeting.command });
  receive = (line) => desk.receive(line as Answer | { readonly news: News });
  return desk;
}

export class SocketDesk implements Desk {
  readonly place: Place;
  readonly holder: Holder;
  readonly reads: Reads;
  readonly memory: CommandMemory;
  readonly archive: CommandArchive;
  readonly keys: CommandKeys;
  readonly access: CommandAccess;
  readonly past: CommandPast;
  readonly runsWorker = false;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  readonly #listeners = new Set<NewsListener>();
  #subscribed: Promise<unknown> | undefined;
  #lastId = 0;

  constructor(socket: Socket, folder: string, holder: Holder) {
    this.#socket = socket;
    this.holder = holder;
    this.place = { kind: 'embedded', folder, holder };
    this.reads = Object.fromEntries(
      READS.map((name) => [name, (...given: unknown[]) => this.#read(name, given)]),
    ) as unknown as Reads;
    this.memory = this.#group<CommandMemory>('memory', MEMORY_CALLS);
    this.archive = this.#group<CommandArchive>('archive', ARCHIVE_CALLS);
    this.keys = this.#group<CommandKeys>('keys', KEY_CALLS);
    this.access = this.#group<CommandAccess>('access', ACCESS_CALLS);
    this.past = this.#group<CommandPast>('past', PAST_CALLS);
    socket.once('close', () => this.#gone());
  }

  /** Calls of one kind, each passed on under the kind's name. */
  #group<Calls>(kind: string, names: readonly (keyof Calls & string)[]): Calls {
    const calls = names.map((name) => [name, (...given: unknown[]) => this.#call(`${kind}.${name}`, given)]);
    return Object.fromEntries(calls) as Calls;
  }

  receive(line: Answer | { readonly news: News }): void {
    if ('news' in line) {
      this.#tell(line.news);
      return;
    }
    const waiting = this.#waiting.get(line.id);
    this.#waiting.delete(line.id);
    if ('error' in line) waiting?.reject(errorOf(line.error));
    else waiting?.resolve(line.value);
  }

  definitions(): Promise<readonly DefinitionCard[]> {
    return this.#call('definitions', []);
  }

  start(request: StartRequest): Promise<StartAnswer> {
    return this.#call('start', [request]);
  }

  async signal(workflow: string, name: string, value: unknown, request: SignalRequest): Promise<void> {
    await this.#call('signal', [workflow, name, value, request]);
  }

  revoke(workflow: string): Promise<Pick<Lease, 'epoch' | 'holder'> | null> {
    return this.#call('revoke', [workflow]);
  }

  health(): Promise<Health> {
    return this.#call('health', []);
  }

  async onNews(listener: NewsListener): Promise<() => void> {
    this.#listeners.add(listener);
    this.#subscribed ??= this.#call('news', []);
    await this.#subscribed;
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#socket.destroy();
  }

  /** JSON has null where a read has undefined. */
  async #read(name: string, given: readonly unknown[]): Promise<unknown> {
    return (await this.#call(name, given)) ?? undefined;
  }

  #call<T>(call: string, given: readonly unknown[]): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#socket.closed || this.#socket.destroyed) reject(this.#goneError());
    else {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      writeLine(this.#socket, { id, call, with: given });
    }
    return promise as Promise<T>;
  }

  #gone(): void {
    const error = this.#goneError();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#tell({ type: 'gone' });
  }

  #goneError(): UnavailableError {
    const { pid, command } = this.holder;
    return new UnavailableError(
      'holder-gone',
      `Process ${pid} (tidemark ${command}), which held the state, has ended before it answered. What it was asked may have been done: give the same command again, it counts once.`,
      {
        pid,
      },
    );
  }

  #tell(news: News): void {
    for (const listener of this.#listeners) listener(news);
  }
}

const ERRORS = { ConfigError, ConflictError, CorruptError, InvalidError, LimitError, UnavailableError } as const;

/** The error as it was on the other side, so that it means the same exit code here. */
function errorOf({ name, code, message, details }: ErrorNote): TidemarkError {
  const Kind = Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : TidemarkError;
  return new Kind(code, message, details);
}
