/**
 * Owns the search for secrets in what a worker has committed under the policy `report`. It looks at a sample after the commit, within a
 * small share of the thread's time, so that no step waits for it. It counts how many events it has searched and how many it has not. It
 * must never delay or change what is stored; the policies that do stand before the log (encryption/guarded-definition.ts).
 */

import { decodePayload, type Payloads } from '@tidemark/codec';
import type { Delta, Envelope, HolderEventType } from '@tidemark/core';
import { type Ports, reportSecrets, type StoredSecret } from '../kernel/index.ts';

/** Rest between two searches, in milliseconds, and the time that one takes before it rests again: 1 % of the thread. */
const REST_MS = 100;
const SEARCH_MS = 1;
/** A search that took longer is followed by a rest of this many times its length. */
const REST_SHARE = REST_MS / SEARCH_MS;
/** Events that wait to be searched, and bytes of their payloads. */
const WAITING_MAX_COUNT = 256;
const WAITING_MAX_BYTES = 1_048_576;
/** A larger payload, in bytes, isn't searched: it would hold up the thread by itself. */
const SEARCHED_MAX_BYTES = 262_144;
/** A payload of no more bytes holds nothing. */
const NULL_BYTES = 4;

/** The members of holders' payloads. */
type Members<P> = P extends unknown ? keyof P & string : never;
/** These hold digests, keys and names of declared tools alone. */
type Unsearched = 'bundle' | 'prompt' | 'sent' | 'tools' | 'schema' | 'place' | 'replays' | 'sends';
type Searched = Exclude<Members<NonNullable<Payloads[HolderEventType]>>, Unsearched>;

/** What the members of payloads are for the workflow. */
const PLACES: Readonly<Record<Searched, StoredSecret['where']>> = {
  output: 'output',
  journal: 'output',
  delta: 'belief',
  snapshot: 'belief',
  tasks: 'task',
  log: 'note',
  fragments: 'fragment',
  scope: 'memory',
  memories: 'memory',
  asks: 'approval',
  children: 'input',
  next: 'input',
  request: 'request',
  texts: 'prompt',
  detail: 'response',
  response: 'response',
  error: 'error',
  evidence: 'error',
};

type SamplePorts = Pick<Ports, 'clock' | 'telemetry' | 'secretPolicy'>;

interface Waiting {
  readonly definition: string;
  readonly event: Envelope<HolderEventType>;
  readonly payload: Uint8Array;
}

export class SecretSample {
  readonly #ports: SamplePorts;
  readonly #onError: (error: unknown) => void;
  readonly #closing = new AbortController();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Set until everything that waits is searched, so that a sample has stretches of events and not one kind of them. */
  #isFull = false;
  #isSearching = false;
  #skippedCount = 0;

  constructor(ports: SamplePorts, onError: (error: unknown) => void) {
    this.#ports = ports;
    this.#onError = onError;
  }

  /** Takes the event into the sample, or counts it as skipped. Without a policy nobody would be told, so nothing is searched. */
  offer(definition: string, event: Envelope<HolderEventType>, payload: Uint8Array): void {
    if (this.#ports.secretPolicy === undefined || payload.length <= NULL_BYTES || this.#closing.signal.aborted) return;
    if (this.#isFull || payload.length > SEARCHED_MAX_BYTES) {
      this.#skippedCount += 1;
    } else {
      this.#waiting.push({ definition, event, payload });
      this.#waitingBytes += payload.length;
      this.#isFull = this.#waiting.length === WAITING_MAX_COUNT || this.#waitingBytes >= WAITING_MAX_BYTES;
    }
    if (!this.#isSearching) void this.#search();
  }

  /** Searches what still waits, and takes nothing more. */
  close(): void {
    this.#closing.abort();
    this.#searchFor(Number.POSITIVE_INFINITY);
  }

  drop(): void {
    this.#closing.abort();
    this.#waiting = [];
  }

  async #search(): Promise<void> {
    const { clock } = this.#ports;
    this.#isSearching = true;
    for (let restMs = REST_MS; this.#waiting.length > 0 || this.#skippedCount > 0; ) {
      await clock.sleep(restMs, this.#closing.signal);
      const startedMs = clock.monotonicMs();
      this.#searchFor(SEARCH_MS);
      restMs = Math.max(REST_MS, (clock.monotonicMs() - startedMs) * REST_SHARE);
    }
    this.#isSearching = false;
  }

  #searchFor(maxMs: number): void {
    const { clock, telemetry } = this.#ports;
    const untilMs = clock.monotonicMs() + maxMs;
    let searchedCount = 0;
    for (let isOver = false; !isOver && this.#waiting.length > 0; searchedCount += 1) {
      try {
        searchEvent(this.#waiting.shift()!, this.#ports);
      } catch (error) {
        // The listener failed, not the step.
        this.#onError(error);
      }
      isOver = clock.monotonicMs() >= untilMs;
    }
    if (this.#waiting.length === 0) {
      this.#isFull = false;
      this.#waitingBytes = 0;
    }
    telemetry.count('secret_search_events_total', searchedCount, { outcome: 'searched' });
    telemetry.count('secret_search_events_total', this.#skippedCount, { outcome: 'skipped' });
    this.#skippedCount = 0;
  }
}

function searchEvent({ definition, event, payload }: Waiting, ports: SamplePorts): void {
  const { type, control } = event;
  const of = 'step' in control ? ` of step ${control.step}` : 'operation' in control ? ` of ${control.operation}` : '';
  for (const [member, value] of Object.entries(decodePayload(type, payload) ?? {})) {
    const where = (PLACES as Partial<Record<string, StoredSecret['where']>>)[member];
    if (where === undefined) continue;
    const content = member === 'delta' ? newIn(value as Delta) : value;
    reportSecrets(content, { definition, where, field: `${where}${of}` }, ports);
  }
}

/** The new values of a change of belief, under their names. */
function newIn(delta: Delta): unknown {
  if ('v' in delta) return delta.v;
  if ('a' in delta) return delta.a;
  return Object.fromEntries(Object.entries(delta.o).map(([name, change]) => [name, newIn(change)]));
}
