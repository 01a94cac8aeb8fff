/**
 * Owns which stream a name of another framework has: a thread, a session. Names are any text; a stream's id is derived from it, and counts
 * how often the name was deleted, since what was deleted never comes back.
 */

import {
  DEFAULT_TENANT,
  FencedError,
  InvalidError,
  nthId,
  type TenantId,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { KeyStore } from '@tidemark/ports';
import { sha256Digest } from '../kernel/index.ts';
import type { RecordedStream, RecordedStreamListing, RecordedStreams } from './recorded-stream.ts';
import { type NamedStream, RecordedWriter, type RecordedWriterOptions } from './recorded-writer.ts';

const KIND = /^[a-z0-9-]{1,40}$/;
/** A name that stands in an id as it is. The others do as a digest. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._:/ -]{0,119}$/;
/** Most characters of a name. */
const NAME_MAX_CHARS = 4_096;

/** What a door to another framework needs of a host, as `openEmbedded` and `openCluster` give one. */
export interface RecordedHost {
  readonly client: { readonly recorded: RecordedStreams };
  /** Of encrypted histories; absent: there are none. */
  readonly keys?: { readonly store: Pick<KeyStore, 'list'> } | undefined;
  readonly forget: (of: {
    readonly tenant: TenantId;
    readonly workflow: WorkflowId;
    readonly by: string;
    readonly why: string;
  }) => Promise<unknown>;
}

export interface RecordedNamesOptions {
  /** Whose they are; of an ordinary installation when absent. */
  readonly tenant?: string | undefined;
  /** Under which lists show the streams, and by which their ids begin: 1 to 40 of a to z, 0 to 9 and '-'. */
  readonly kind: string;
}

export class RecordedNames {
  readonly #host: RecordedHost;
  readonly kind: string;
  readonly tenant: TenantId;
  /** How often each name was deleted, as far as this process has seen. */
  readonly #ended = new Map<string, number>();

  /** Throws `InvalidError` (`name-invalid`, `config-invalid`). */
  constructor(host: RecordedHost, { tenant = DEFAULT_TENANT, kind }: RecordedNamesOptions) {
    if (!KIND.test(kind)) {
      throw new InvalidError('name-invalid', "name: give 1 to 40 of a to z, 0 to 9 and '-'.", {
        ...{ field: 'name', name: kind },
      });
    }
    this.#host = host;
    this.kind = kind;
    this.tenant = checkedStreamName('tenant', tenant) as TenantId;
  }

  #idOf(name: string, n: number): WorkflowId {
    const isPlain = this.tenant === 'default' && PLAIN.test(name);
    const own = isPlain ? name : `#${sha256Digest.sha256(JSON.stringify([this.tenant, name])).slice(0, 40)}`;
    return nthId({ first: workflowId(`${this.kind}:${own}`), n });
  }

  /** `tags`: given to it when it is opened. */
  streamOf(name: string, tags?: readonly string[]): NamedStream {
    return { find: () => this.#find(name), open: () => this.#open(name, tags) };
  }

  /** Reads and writes it as one process does. `what` it is to its framework. */
  writerOf(
    name: string,
    options: Omit<RecordedWriterOptions, 'stream' | 'clock' | 'name'> & { readonly tags?: readonly string[] },
  ): RecordedWriter {
    const { tags, ...more } = options;
    return new RecordedWriter({
      ...more,
      name,
      stream: this.streamOf(name, tags),
      clock: this.#host.client.recorded.clock,
    });
  }

  /** The stream of the name, which is not deleted; undefined: there is none. */
  async #find(name: string): Promise<RecordedStream | undefined> {
    for (let n = this.#ended.get(name) ?? 1; ; n++) {
      const stream = await this.#host.client.recorded.find(this.#idOf(name, n));
      if (stream !== undefined && (stream.definition !== this.kind || stream.tenant !== this.tenant)) return undefined;
      if (stream === undefined || !stream.isClosed) return stream;
      this.#ended.set(name, n + 1);
    }
  }

  async #open(name: string, tags: readonly string[] | undefined): Promise<RecordedStream> {
    for (;;) {
      const found = await this.#find(name);
      if (found !== undefined) return found;
      const n = this.#ended.get(name) ?? 1;
      const opened = await this.#host.client.recorded.open({
        definition: this.kind,
        workflow: this.#idOf(name, n),
        tenant: this.tenant,
        input: { name },
        belief: {},
        tags,
      });
      if (!opened.isClosed) return opened;
    }
  }

  /** Ends the stream of the name, and destroys the keys of its history where it is encrypted. Harmless when repeated. */
  async delete(name: string, why: string): Promise<void> {
    const ended = await this.#end(name);
    const { keys } = this.#host;
    if (keys === undefined) return;
    const { tenant, kind } = this;
    // Also those of earlier deletions, which may have died before their keys were destroyed.
    for (const workflow of ended) {
      for await (const _ of keys.store.list({ tenant, workflow })) {
        await this.#host.forget({ tenant, workflow, by: kind, why });
        break;
      }
    }
  }

  /** Ends the stream. Returns the ids of all of this name that have ended. */
  async #end(name: string): Promise<readonly WorkflowId[]> {
    for (;;) {
      const stream = await this.#find(name);
      const n = this.#ended.get(name) ?? 1;
      try {
        await stream?.close();
        const count = stream === undefined ? n - 1 : n;
        return Array.from({ length: count }, (_, at) => this.#idOf(name, at + 1));
      } catch (error) {
        // Somebody wrote it meanwhile.
        if (!(error instanceof FencedError)) throw error;
      }
    }
  }

  /** All that are not deleted, with all of these tags; the one that was opened last comes first. */
  async *all(tags?: readonly string[]): AsyncGenerator<RecordedStreamListing & { readonly name: string }> {
    for await (const listing of this.#host.client.recorded.all(this.kind, this.tenant, tags)) {
      const name = (listing.input as { readonly name?: unknown } | null)?.name;
      if (typeof name === 'string') yield { ...listing, name };
    }
  }
}

/** A text that can name a stream. Throws `InvalidError` (`config-invalid`). */
export function checkedStreamName(field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= NAME_MAX_CHARS && value.isWellFormed()) return value;
  const got =
    typeof value === 'string' ? `one of ${value.length} characters` : `${value === null ? 'null' : typeof value}`;
  throw new InvalidError('config-invalid', `${field}: give a text of 1 to ${NAME_MAX_CHARS} characters, not ${got}.`, {
    field,
  });
}
