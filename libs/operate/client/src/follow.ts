/**
 * Owns following: one stream over as many connections as it takes. Each connection resumes after the last event read, so that no event is
 * missed and none comes twice, however often the connection or the server is lost.
 */

import { TidemarkApiError } from './api-error.ts';
import type { EventOf, StreamEndpoint } from './endpoints.ts';
import { eventsIn } from './event-lines.ts';
import { PAUSE_FIRST_MS } from './limits.ts';
import { pause, type Wire } from './wire.ts';

/** Longest pause between two connections of a stream, in milliseconds. */
const FOLLOW_PAUSE_MAX_MS = 5_000;
/** Silence after which a stream reconnects, in milliseconds; servers send heartbeats every 15 seconds. */
const SILENCE_MAX_MS = 45_000;

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called for every lost connection; the stream reconnects in any case. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

/** Refusals that end a connection which had been accepted. The next one is judged by itself, with another token where there is one. */
const MAY_RETURN: ReadonlySet<string> = new Set(['credentials-expired', 'rights-changed', 'reader-slow']);

interface Asked {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
}

/** Yields events by name; ends when the server says that no more will come, or the signal aborts. Throws `TidemarkApiError` for what no retry helps. */
export async function* follow<E extends StreamEndpoint>(
  wire: Wire,
  endpoint: E,
  { params, query }: Asked,
  { signal, onLost }: FollowOptions,
): AsyncGenerator<EventOf<E> & { readonly id?: string }> {
  const address = wire.address(endpoint.replace('GET ', ''), params, query);
  let lastId: string | undefined;
  const isOver = (): boolean => signal?.aborted === true;
  for (let failures = 0; !isOver(); ) {
    // A server that stops, or closes a long connection, ends it in order; events that come meanwhile are missed all the same.
    let lost: unknown = new Error('The stream ended.');
    try {
      const response = await wire.connect(address, lastId, signal);
      if (response.status === 204 || response.body === null) return;
      for await (const { name, data, id } of eventsIn(awake(response.body, SILENCE_MAX_MS))) {
        failures = 0;
        if (name === 'end') return;
        if (name === 'problem') {
          const problem = new TidemarkApiError(JSON.parse(data) as TidemarkApiError & { readonly detail: string });
          if (!MAY_RETURN.has(problem.code)) throw problem;
          lost = problem;
          break;
        }
        yield { name, data: JSON.parse(data) as unknown, ...(id !== undefined && { id }) } as EventOf<E>;
        if (id !== undefined) lastId = id;
      }
    } catch (error) {
      if (isOver()) return;
      if (error instanceof TidemarkApiError && !error.canRetry) throw error;
      lost = error;
    }
    if (isOver()) return;
    onLost?.(lost);
    failures++;
    const waitMs = Math.min(PAUSE_FIRST_MS * 2 ** (failures - 1), FOLLOW_PAUSE_MAX_MS);
    await pause(waitMs * (0.5 + Math.random() / 2), signal).catch(() => {});
  }
}

/** Fails when nothing at all has come for so long: servers send heartbeats. */
function awake(body: ReadableStream<Uint8Array>, silenceMs: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const silent = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`Nothing came for ${silenceMs} ms`)), silenceMs);
      });
      try {
        const { done, value } = await Promise.race([reader.read(), silent]);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        await reader.cancel().catch(() => {});
        throw error;
      } finally {
        clearTimeout(timer);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
