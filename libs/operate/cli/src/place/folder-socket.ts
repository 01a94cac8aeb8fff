/**
 * Owns the socket of a state folder: the holder of the folder serves the API there, and other commands on the folder use it, since only one
 * process can have the folder's log open. The holder of the folder's lock may replace a socket that a dead process left. Only this user can
 * connect (mode 0600).
 */

import { chmod, lstat, mkdtemp, readlink, rename, rm, rmdir, stat, symlink } from 'node:fs/promises';
import { request } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { ConfigError, type WorkflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { Definition } from '@tidemark/runtime';

/** Longest path, in bytes, of a socket on every system. */
export const SOCKET_PATH_MAX_BYTES = 100;

export interface Holder {
  readonly pid: number;
  readonly command: string;
}

/** Bytes that `mkdtemp` and the socket's own name add. */
const NURSERY_BYTES = 'XXXXXX/sock'.length;

const socketPath = (folder: string): string => path.join(folder, 'api.sock');

export interface ServedFolder {
  /** Absolute. */
  readonly folder: string;
  readonly host: Host;
  readonly definitions: readonly Definition[];
  readonly command: string;
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

/** The caller holds the folder. */
export async function serveFolder({ folder, host, ...options }: ServedFolder): Promise<{ close(): Promise<void> }> {
  // Commands that serve nothing must not load a web server.
  const { listenSocket, ownerAuthenticator } = await import('@tidemark/api');
  const { definitions, command, onError } = options;
  const named = socketPath(folder);
  // It must never be open to others, so it is created in a folder that only this user may enter, and gets its name with its mode.
  const nursery = path.join(folder, '.api-');
  const isFar = Buffer.byteLength(nursery) + NURSERY_BYTES > SOCKET_PATH_MAX_BYTES;
  const home = await mkdtemp(isFar ? path.join(os.tmpdir(), 'tidemark-') : nursery);
  const address = path.join(home, 'sock');
  const place = {
    ...{ ports: host.ports, client: host.client, holder: { pid: process.pid, command } },
    pendingCheckpoints: (workflow: WorkflowId) => host.pendingCheckpoints(workflow),
    // A coordinator may begin in it later.
    get demand() {
      return host.demand;
    },
  };
  const listening = await listenSocket({
    ...{ place, definitions, onError, path: address },
    authenticator: ownerAuthenticator,
    rateMaxCount: Number.MAX_SAFE_INTEGER,
  });
  await chmod(address, 0o600);
  await rm(named, { force: true });
  if (isFar) await symlink(address, named);
  else {
    await rename(address, named);
    await rmdir(home);
  }
  return {
    async close() {
      await listening.close();
      await Promise.all([rm(named, { force: true }), rm(home, { recursive: true, force: true })]);
    },
  };
}

/**
 * `fetch` through the folder's socket, whatever host an address names. Fails as `fetch` does where nobody answers. Throws `ConfigError`
 * (`holder-foreign`): another user, who would see the requests, created the socket or the link to it.
 */
export async function folderFetch(folder: string): Promise<typeof fetch> {
  const socket = await ownSocket(socketPath(folder));
  return (input, { method = 'GET', headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const { pathname, search } = new URL(String(input));
      const sent = request({
        ...{ socketPath: socket, method, path: `${pathname}${search}`, agent: false },
        headers: Object.fromEntries(new Headers(headers)),
        ...(signal instanceof AbortSignal && { signal }),
      });
      sent.once('error', reject);
      sent.once('response', (answer) => {
        const { statusCode = 500, headers: given } = answer;
        const reported = Object.entries(given).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, String(value)]],
        );
        const isEmpty = statusCode === 204;
        if (isEmpty) answer.resume();
        const stream = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
        resolve(new Response(stream, { status: statusCode, headers: reported as [string, string][] }));
      });
      sent.end(typeof body === 'string' ? body : undefined);
    });
}

/** Its real path: the name is a link where the folder's own path would be too long for a socket. */
async function ownSocket(named: string): Promise<string> {
  const uid = process.getuid?.();
  for (const statOf of [lstat, stat]) {
    const found = await statOf(named).catch(() => undefined);
    if (found === undefined || uid === undefined || found.uid === uid) continue;
    throw new ConfigError(
      'holder-foreign',
      `The socket ${named} was made by another user (uid ${found.uid}), so nothing is sent through it. Ask them, or name another folder with --state.`,
      { uid: found.uid },
    );
  }
  return await readlink(named).catch(() => named);
}
