/**
 * Owns the holder's side of a state folder's socket: other commands on the same folder are answered through it, since the
 * log in the folder can have one process only. Whoever holds the folder's lock may replace a socket that a dead process
 * left. Only this user can connect (mode 0600).
 */

import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { messageOf, TidemarkError } from '@tidemark/core';
import { SOCKET_LINE_MAX_BYTES, SOCKET_PATH_MAX_BYTES } from '../limits.ts';
import { serveFolder } from '../place/folder-socket.ts';
import { ACCESS_CALLS } from './access-desk.ts';
import { ARCHIVE_CALLS } from './archive-desk.ts';
import { type Desk, type Holder, READS, type Reads, type SignalRequest, type StartRequest } from './desk.ts';
import type { HostDesk } from './host-desk.ts';
import { KEY_CALLS } from './keys-desk.ts';
import { MEMORY_CALLS } from './memory-desk.ts';
import { PAST_CALLS } from './past-desk.ts';
import {
  type Answer,
  type Call,
  type ErrorNote,
  readLines,
  SOCKET_VERSION,
  socketPath,
  writeLine,
} from './socket-lines.ts';

export interface SocketServer {
  close(): Promise<void>;
}

/** Serves the desk on the folder's socket. The caller holds the folder. */
export async function serveSocket(desk: HostDesk, folder: string, command: Holder['command']): Promise<SocketServer> {
  const api = await serveFolder({ folder: path.resolve(folder), host: desk.host, definitions: desk.known, command });
  const named = socketPath(path.resolve(folder));
  await rm(named, { force: true });
  const elsewhere =
    Buffer.byteLength(named) > SOCKET_PATH_MAX_BYTES ? await mkdtemp(path.join(os.tmpdir(), 'tidemark-')) : undefined;
  const address = elsewhere === undefined ? named : path.join(elsewhere, 'sock');
  const peers = new Set<Socket>();
  const server = createServer((socket) => {
    peers.add(socket);
    socket.once('close', () => peers.delete(socket));
    serve(socket, desk, command);
  });
  await listen(server, address);
  if (elsewhere !== undefined) await symlink(address, named);
  return {
    async close() {
      await api.close();
      for (const peer of peers) peer.destroy();
      await new Promise((resolve) => server.close(resolve));
      if (elsewhere !== undefined) await Promise.all([rm(named, { force: true }), rm(elsewhere, { recursive: true })]);
    },
  };
}

async function listen(server: Server, address: string): Promise<void> {
  // The socket must at no moment be open to others, so it is born with its mode.
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(address, resolve);
    });
  } finally {
    process.umask(before);
  }
  await chmod(address, 0o600);
}

function serve(socket: Socket, desk: Desk, command: Holder['command']): void {
  let unsubscribe: (() => void) | undefined;
  socket.on('error', () => {}); // the peer is gone, or was cut off; `close` follows
  socket.once('close', () => unsubscribe?.());
  writeLine(socket, { tidemark: SOCKET_VERSION, pid: process.pid, command });
  readLines(socket, (line) => {
    const call = line as Call;
    void answer(desk, call, async () => {
      // A peer that doesn't read loses news, which is only ever a hint.
      unsubscribe ??= await desk.onNews((news) => {
        if (socket.writableLength < SOCKET_LINE_MAX_BYTES) writeLine(socket, { news });
      });
    }).then((said) => writeLine(socket, said));
  });
}

async function answer(desk: Desk, { id, call, with: given }: Call, subscribe: () => Promise<void>): Promise<Answer> {
  try {
    return { id, value: (await perform(desk, call, given, subscribe)) ?? null };
  } catch (error) {
    return { id, error: noteOf(error) };
  }
}

type Perform = (...args: readonly unknown[]) => Promise<unknown>;

/** Calls that are passed on by kind and name. */
const GROUPS = {
  memory: MEMORY_CALLS,
  archive: ARCHIVE_CALLS,
  keys: KEY_CALLS,
  past: PAST_CALLS,
  access: ACCESS_CALLS,
} as const;

async function perform(
  desk: Desk,
  call: string,
  given: readonly unknown[],
  subscribe: () => Promise<void>,
): Promise<unknown> {
  if (READS.includes(call as keyof Reads)) {
    const read = desk.reads[call as keyof Reads] as (...args: readonly unknown[]) => Promise<unknown>;
    return read.apply(desk.reads, given as unknown[]);
  }
  for (const [kind, names] of Object.entries(GROUPS)) {
    const name = (names as readonly string[]).find((each) => call === `${kind}.${each}`);
    if (name === undefined) continue;
    const calls = desk[kind as keyof typeof GROUPS] as unknown as Readonly<Record<string, Perform>>;
    return calls[name]!.apply(calls, given as unknown[]);
  }
  if (call === 'start') return desk.start(given[0] as StartRequest);
  if (call === 'signal') return desk.signal(String(given[0]), String(given[1]), given[2], given[3] as SignalRequest);
  if (call === 'revoke') return desk.revoke(String(given[0]));
  if (call === 'definitions') return desk.definitions();
  if (call === 'health') return desk.health();
  if (call === 'news') return subscribe();
  throw new TidemarkError('call-unknown', `The process that holds the folder does not know '${call}'.`);
}

function noteOf(error: unknown): ErrorNote {
  if (error instanceof TidemarkError) {
    const { name, code, message, details } = error;
    return { name, code, message, details: plain(details) };
  }
  return { name: 'TidemarkError', code: 'internal', message: messageOf(error) };
}

function plain(details: TidemarkError['details']): ErrorNote['details'] {
  try {
    return JSON.parse(JSON.stringify(details));
  } catch {
    return undefined;
  }
}
