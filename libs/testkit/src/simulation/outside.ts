/**
 * Owns the world outside: receivers of effects, whose ledger survives every crash and counts what was applied. Three kinds: one
 * deduplicates by key, one doesn't but can be probed, one neither. Also checks, as each call leaves, that the log holds its
 * intention and no outcome (I4).
 */

import type { EffectKey, Json } from '@tidemark/core';
import { NotDoneError, type ProbeResult } from '@tidemark/runtime';
import { type Network, never } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Transcript } from './transcript.ts';
import type { Witness } from './witness.ts';

export type ReceiverKind = 'deduplicates' | 'probed' | 'blind';

export interface LedgerEntry {
  readonly receiver: ReceiverKind;
  readonly response: Json;
  appliedCount: number;
}

/** How receivers behave: shares of the calls that are refused, slow, and whose answer is lost. */
export interface OutsideFaults {
  refused: number;
  slow: number;
  answerLost: number;
}

/** What a receiver answers to a request: a function of it alone, so that outputs don't depend on what happened on the way. */
export const answerTo = (request: Json): Json => ({ receipt: (request as { readonly amount: number }).amount * 7 });

export class Outside {
  readonly ledger = new Map<string, LedgerEntry>();
  readonly violations: string[] = [];
  readonly faults: OutsideFaults = { refused: 0, slow: 0, answerLost: 0 };
  callCount = 0;
  readonly #scheduler: Scheduler;
  readonly #network: Network;
  readonly #random: SeededRandom;
  readonly #witness: Witness;
  readonly #transcript: Transcript;

  constructor(around: {
    readonly scheduler: Scheduler;
    readonly network: Network;
    readonly random: SeededRandom;
    readonly witness: Witness;
    readonly transcript: Transcript;
  }) {
    this.#scheduler = around.scheduler;
    this.#network = around.network;
    this.#random = around.random;
    this.#witness = around.witness;
    this.#transcript = around.transcript;
  }

  /** A call takes effect within its time-out or never; its caller hears of it, or learns at the time-out that it can't know. */
  call(
    process: SimulatedProcess,
    receiver: ReceiverKind,
    { key, request, timeoutMs, irreversible }: Request,
  ): Promise<Json> {
    if (!this.#network.trap(process, 'outside', receiver, 'sent')) return never();
    this.callCount++;
    if (irreversible) this.#checkIntention(process, key);
    this.#transcript.add(process.name, `call ${key}`);
    return new Promise((resolve, reject) => {
      const slow = this.#random.chance(this.faults.slow);
      const tripMs = slow ? this.#random.between(0.3, 0.95) * timeoutMs : this.#network.tripMs('outside');
      const timedOut = this.#scheduler.after(timeoutMs, () =>
        process.deliver(() => reject(new Error(`${key}: no answer within ${timeoutMs} ms`))),
      );
      this.#scheduler.after(tripMs, () => {
        if (this.#network.isLost(process) || this.#network.isCut(process, 'outside')) return 'quiet';
        const refused = this.#random.chance(this.faults.refused);
        const response = refused ? null : this.#apply(receiver, key, request);
        this.#network.trap(process, 'outside', receiver, 'done');
        if (this.#random.chance(this.faults.answerLost) || this.#network.isCut(process, 'outside')) return 'quiet';
        this.#scheduler.after(this.#network.tripMs('outside'), () =>
          process.deliver(() => {
            this.#scheduler.cancel(timedOut);
            if (refused) reject(new NotDoneError('refused'));
            else resolve(response);
          }),
        );
        return 'quiet';
      });
    });
  }

  #apply(receiver: ReceiverKind, key: EffectKey, request: Json): Json {
    const known = this.ledger.get(key);
    if (known !== undefined && receiver === 'deduplicates') return known.response;
    const response = answerTo(request);
    this.ledger.set(key, { receiver, response, appliedCount: (known?.appliedCount ?? 0) + 1 });
    this.#transcript.add('outside', `applied ${key}${known === undefined ? '' : ` (${known.appliedCount + 1} times)`}`);
    return response;
  }

  #checkIntention(process: SimulatedProcess, key: EffectKey): void {
    const status = this.#witness.effects.get(key)?.status;
    if (status === 'intended') return;
    this.violations.push(`I4: ${process.name} calls ${key}, which the log has as ${status ?? 'never intended'}`);
  }

  /** Whether the call of this key took place, as far as its receiver knows now. */
  async probe(process: SimulatedProcess, key: EffectKey): Promise<ProbeResult<Json>> {
    const known = await this.#network.call(process, 'outside', 'probe', () => this.ledger.get(key));
    this.#transcript.add(process.name, `probe ${key}: ${known === undefined ? 'not done' : 'done'}`);
    return known === undefined ? { status: 'not-done' } : { status: 'done', response: known.response };
  }
}

interface Request {
  readonly key: EffectKey;
  readonly request: Json;
  readonly timeoutMs: number;
  readonly irreversible: boolean;
}
