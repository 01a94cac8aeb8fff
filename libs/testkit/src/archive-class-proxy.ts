/**
 * Owns a proxy in front of a real S3 server that behaves as S3 does with objects of archive classes, which small servers keep as mere
 * labels: GET of such an object is refused (403 InvalidObjectState) until RestoreObject was asked for and the restore is done; HEAD
 * says its class and how the restore goes. Everything else passes unchanged, the Host header too, which signatures cover. It knows
 * objects by their names below the bucket and prefix that a store is opened with, and the path style of keys alone.
 *
 *     const proxy = await startArchiveClassProxy({ server: s3, bucket, prefix: 'tidemark/' });
 *     const objects = await openS3Objects({ ...options, endpoint: proxy.endpoint, storageClass: 'DEEP_ARCHIVE' });
 *     // or, as a lifecycle rule does later: proxy.archive('a/b', 'GLACIER')
 *     await objects.recall('a/b'); // recalling, until `headsUntilReady` HEADs have seen it, or:
 *     proxy.ready('a/b');
 *
 * The states of an object: archived → (RestoreObject) → restoring → (`headsUntilReady` HEADs, or `ready`) → restored → (`expire`) → archived.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { giveOn, headersWithout, startHttpRelay } from './http-relay.ts';

export interface ArchiveClassProxyOptions {
  /** Address of the real server; credentials in it are ignored. */
  readonly server: string;
  readonly bucket: string;
  /** As the store's: empty, or with a slash at its end. */
  readonly prefix?: string;
  /** How many HEADs of an object report the restore as ongoing; the next one reports it done. Infinity: until `ready`. */
  readonly headsUntilReady?: number;
}

export interface AskedRestore {
  readonly name: string;
  /** As requested; null: unspecified. */
  readonly days: number | null;
  readonly tier: string | null;
}

export interface ArchiveClassProxy {
  /** Address of the bucket with archive classes. */
  readonly endpoint: string;
  /** Restores that were accepted, in their order. */
  readonly asked: readonly AskedRestore[];
  /** Puts the object into an archive class, whatever class it was written with. */
  archive(name: string, storageClass?: string): void;
  /** The restore is done: the object can be read. */
  ready(name: string): void;
  /** The restored copy is gone: the object is archived again. */
  expire(name: string): void;
  close(): Promise<void>;
}

const HEADS_UNTIL_READY = 2;
const DAY_MS = 24 * 60 * 60 * 1_000;
const ARCHIVES: readonly string[] = ['GLACIER', 'DEEP_ARCHIVE'];

interface Restore {
  readonly headsLeft: number;
}

export async function startArchiveClassProxy(options: ArchiveClassProxyOptions): Promise<ArchiveClassProxy> {
  const proxy = new Proxying(options);
  const { endpoint, close } = await startHttpRelay(options.server, (request, response, pass) =>
    proxy.serve(request, response, pass),
  );
  return {
    endpoint,
    asked: proxy.asked,
    archive: (name, storageClass = 'GLACIER') => proxy.archive(name, storageClass),
    ready: (name) => proxy.restore(name, 0),
    expire: (name) => proxy.expire(name),
    close,
  };
}

class Proxying {
  readonly asked: AskedRestore[] = [];
  readonly #below: string;
  readonly #headsUntilReady: number;
  /** Classes from the newest uploads. */
  readonly #classes = new Map<string, string>();
  /** Objects that a rule moved. */
  readonly #moved = new Map<string, string>();
  readonly #restores = new Map<string, Restore>();

  constructor({ bucket, prefix = '', headsUntilReady = HEADS_UNTIL_READY }: ArchiveClassProxyOptions) {
    this.#below = `/${bucket}/${prefix}`;
    this.#headsUntilReady = headsUntilReady;
  }

  archive(name: string, storageClass: string): void {
    this.#moved.set(name, storageClass);
    this.#restores.delete(name);
  }

  restore(name: string, headsLeft: number): void {
    this.#restores.set(name, { headsLeft });
  }

  expire(name: string): void {
    this.#restores.delete(name);
  }

  async serve(request: IncomingMessage, response: ServerResponse, pass: () => Promise<IncomingMessage>): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, 'http://proxy');
    const key = decodeURIComponent(pathname);
    const name = key.startsWith(this.#below) ? key.slice(this.#below.length) : '';
    if (name !== '' && request.method === 'POST' && searchParams.has('restore')) {
      say(response, ...this.#restoreAnswer(name, await text(request)));
      return;
    }
    const answer = await pass();
    const isOfWhole = name !== '' && !searchParams.has('uploadId') && answer.statusCode! < 300;
    if (isOfWhole && this.#answerArchived(request.method!, name, answer, response)) return;
    giveOn(answer, response);
  }

  /** Whether the proxy answered by itself. */
  #answerArchived(method: string, name: string, answer: IncomingMessage, response: ServerResponse): boolean {
    if (method === 'PUT' || method === 'DELETE') this.#forget(name);
    if (method !== 'HEAD' && method !== 'GET') return false;
    const storageClass = this.#moved.get(name) ?? `${answer.headers['x-amz-storage-class'] ?? 'STANDARD'}`;
    this.#classes.set(name, storageClass);
    if (!ARCHIVES.includes(storageClass)) return false;
    if (method === 'HEAD') {
      const others = headersWithout(answer, (header) => header === 'x-amz-storage-class');
      giveOn(answer, response, [...others, 'x-amz-storage-class', storageClass, ...this.#restoreHeaderOf(name)]);
      return true;
    }
    if (this.#isReadable(name)) return false;
    answer.destroy();
    say(response, 403, 'InvalidObjectState', `<StorageClass>${storageClass}</StorageClass>`);
    return true;
  }

  /** Also counts the HEAD. */
  #restoreHeaderOf(name: string): string[] {
    const restore = this.#restores.get(name);
    if (restore === undefined) return [];
    const isOngoing = restore.headsLeft > 0;
    if (isOngoing) this.restore(name, restore.headsLeft - 1);
    const expiry = new Date(Date.now() + DAY_MS).toUTCString();
    return ['x-amz-restore', isOngoing ? 'ongoing-request="true"' : `ongoing-request="false", expiry-date="${expiry}"`];
  }

  /** The answer of S3 to RestoreObject: a status, and for a refusal its code. */
  #restoreAnswer(name: string, body: string): readonly [status: number, code?: string] {
    const storageClass = this.#moved.get(name) ?? this.#classes.get(name);
    if (storageClass === undefined) return [404, 'NoSuchKey'];
    if (!ARCHIVES.includes(storageClass)) return [403, 'ObjectAlreadyInActiveTierError'];
    if (this.#isReadable(name)) return [200];
    if (this.#restores.has(name)) return [409, 'RestoreAlreadyInProgress'];
    const [, days = null] = /<Days>(\d+)<\/Days>/.exec(body) ?? [];
    const [, tier = null] = /<Tier>(\w+)<\/Tier>/.exec(body) ?? [];
    if (storageClass === 'DEEP_ARCHIVE' && tier === 'Expedited') return [403, 'InvalidObjectState'];
    this.asked.push({ name, days: days === null ? null : Number(days), tier });
    this.restore(name, this.#headsUntilReady);
    return [202];
  }

  #isReadable(name: string): boolean {
    return this.#restores.get(name)?.headsLeft === 0;
  }

  #forget(name: string): void {
    for (const known of [this.#classes, this.#moved, this.#restores]) known.delete(name);
  }
}

function say(response: ServerResponse, status: number, code?: string, more = ''): void {
  const error = `<Error><Code>${code}</Code><Message>so says the proxy</Message>${more}</Error>`;
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(code === undefined ? undefined : `<?xml version="1.0"?>${error}`);
}
