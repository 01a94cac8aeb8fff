/** Owns the bench's end of the channels: the processes of the peers, started alike, and the socket to which steps tell about themselves. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Answer, type Command, NOTES_VARIABLE, type Note } from './workspace/protocol.ts';

export interface Child {
  readonly pid: number;
  ask(command: Omit<Command, 'id'>): Promise<void>;
  kill(): Promise<void>;
}

/** Starts a file of this folder; resolves when it says that it is ready. */
export async function startChild(
  file: string,
  env: Readonly<Record<string, string>>,
  notesPort: number,
  execArgv: readonly string[] = [],
): Promise<Child> {
  const child = fork(path.join(import.meta.dirname, file), {
    env: { ...process.env, NODE_ENV: 'production', ...env, [NOTES_VARIABLE]: String(notesPort) },
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const waiting = new Map<number, PromiseWithResolvers<void>>([[0, Promise.withResolvers()]]);
  child.on('message', ({ id, error }: Answer) => {
    if (error === undefined) waiting.get(id)?.resolve();
    else waiting.get(id)?.reject(new Error(`${file}: ${error}`));
    waiting.delete(id);
  });
  child.once('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new EndedError(`${file} ended: code ${code}, signal ${signal}`));
    waiting.clear();
  });
  await waiting.get(0)!.promise;
  let nextId = 1;
  return {
    pid: child.pid!,
    ask(command) {
      const answer = Promise.withResolvers<void>();
      waiting.set(nextId, answer);
      child.send({ id: nextId++, ...command });
      return answer.promise;
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}

/** A process of a peer ended while it was asked for something. */
export class EndedError extends Error {
  override readonly name = 'EndedError';
}

type Listener = (note: Note) => void;

export interface Notes {
  readonly port: number;
  listen(listener: Listener): () => void;
  close(): void;
}

export async function openNotes(): Promise<Notes> {
  const listeners = new Set<Listener>();
  const server = createServer((socket) => {
    // A worker that is killed breaks its connection.
    socket.on('error', () => undefined);
    createInterface({ input: socket })
      .on('line', (line) => {
        const note = parsed(line);
        if (note !== undefined) for (const listener of [...listeners]) listener(note);
      })
      .on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => void server.close(),
  };
}

/** Undefined of a line that a killed process did not finish. */
function parsed(line: string): Note | undefined {
  try {
    return JSON.parse(line) as Note;
  } catch {
    return undefined;
  }
}
