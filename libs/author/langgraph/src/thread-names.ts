/**
 * Owns which stream a thread has. Threads have any name; a stream's id is derived from it, and counts how often the thread was deleted, since
 * what was deleted never comes back.
 */

import { FencedError, InvalidError, nthId, type TenantId, type WorkflowId, workflowId } from '@tidemark/core';
import { type Client, type RecordedStream, sha256Digest } from '@tidemark/runtime';
import type { ThreadStreams } from './thread.ts';

const NAME = /^[a-z0-9-]{1,40}$/;
/** A thread's name that stands in an id as it is. The others do as a digest. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._:/ -]{0,119}$/;

export class ThreadNames {
  readonly #client: Client;
  readonly name: string;
  readonly tenant: TenantId;
  /** How often each thread was deleted, as far as this process has seen. */
  readonly #ended = new Map<string, number>();

  /** Throws `InvalidError` (`name-invalid`). */
  constructor(client: Client, tenant: TenantId, name: string) {
    if (!NAME.test(name)) {
      throw new InvalidError('name-invalid', "name: give 1 to 40 of a to z, 0 to 9 and '-'.", { field: 'name', name });
    }
    this.#client = client;
    this.name = name;
    this.tenant = tenant;
  }

  #idOf(thread: string, n: number): WorkflowId {
    const isPlain = this.tenant === 'default' && PLAIN.test(thread);
    const own = isPlain ? thread : `#${sha256Digest.sha256(JSON.stringify([this.tenant, thread])).slice(0, 40)}`;
    return nthId({ first: workflowId(`${this.name}:${own}`), n });
  }

  streamsOf(thread: string): ThreadStreams {
    return { find: () => this.#find(thread), open: () => this.#open(thread) };
  }

  /** The stream of the thread, which is not deleted; undefined: there is none. */
  async #find(thread: string): Promise<RecordedStream | undefined> {
    for (let n = this.#ended.get(thread) ?? 1; ; n++) {
      const stream = await this.#client.recorded.find(this.#idOf(thread, n));
      if (stream !== undefined && (stream.definition !== this.name || stream.tenant !== this.tenant)) return undefined;
      if (stream === undefined || !stream.isClosed) return stream;
      this.#ended.set(thread, n + 1);
    }
  }

  async #open(thread: string): Promise<RecordedStream> {
    for (;;) {
      const found = await this.#find(thread);
      if (found !== undefined) return found;
      const n = this.#ended.get(thread) ?? 1;
      const opened = await this.#client.recorded.open({
        definition: this.name,
        workflow: this.#idOf(thread, n),
        tenant: this.tenant,
        input: { thread },
        belief: {},
      });
      if (!opened.isClosed) return opened;
    }
  }

  /** Ends the thread's stream. Returns the ids of all that have ended, this one among them. */
  readonly end = async (thread: string): Promise<readonly WorkflowId[]> => {
    for (;;) {
      const stream = await this.#find(thread);
      const n = this.#ended.get(thread) ?? 1;
      const ended = Array.from({ length: stream === undefined ? n - 1 : n }, (_, at) => this.#idOf(thread, at + 1));
      try {
        await stream?.close();
        return ended;
      } catch (error) {
        // Somebody wrote it meanwhile.
        if (!(error instanceof FencedError)) throw error;
      }
    }
  };

  /** Names of all threads that are not deleted. */
  async *all(): AsyncGenerator<string> {
    for await (const { input } of this.#client.recorded.all(this.name, this.tenant)) {
      const thread = (input as { readonly thread?: unknown } | null)?.thread;
      if (typeof thread === 'string') yield thread;
    }
  }
}
