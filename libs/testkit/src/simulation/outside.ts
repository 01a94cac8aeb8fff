/**
 * Owns the world outside: receivers of effects, whose ledger survives every crash and counts applications and compensations. Also checks,
 * as each call leaves, that the log holds its intention and no outcome (I4), and, at each compensation, that all outcomes are known by
 * then. acceptance.ts has effects that are confirmed later.
 */

import type { EffectKey, Json } from '@tidemark/core';
import { NotDoneError, type PendingResult, type ProbeResult } from '@tidemark/runtime';
import { outcomeIsOpen } from '../naive/stream.ts';
import { Acceptances, type ReceiverKind, type Request } from './acceptance.ts';
import { type Network, never } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Transcript } from './transcript.ts';
import type { Witness } from './witness.ts';

export interface LedgerEntry {
  readonly receiver: ReceiverKind | 'undo';
  readonly workflow: string;
  /** Its name for the compensation. */
  readonly ref: string | undefined;
  readonly response: Json;
  /** Order among all applications. */
  readonly at: number;
  appliedCount: number;
}

/** How receivers behave: shares of the calls that are refused, slow, and whose answer is lost; whether callers must connect first. */
export interface OutsideFaults {
  connects: boolean;
  refused: number;
  slow: number;
  answerLost: number;
}

/** A receiver's answer to a request: a function of it alone, so that outputs don't depend on what happened on the way. */
export function answerTo(request: Json): Json {
  const { amount, ref } = request as { readonly amount: number; readonly ref?: string };
  return { receipt: amount * 7, ...(ref === undefined ? {} : { ref }) };
}

/** A slow call takes this share of its time-out at most: a later answer is lost. */
const SLOWEST = 0.95;

export interface Compensation {
  /** Of the compensation's own effect. */
  readonly key: EffectKey;
  readonly ref: string;
  readonly timeoutMs: number;
}

export class Outside {
  readonly ledger = new Map<string, LedgerEntry>();
  readonly violations: string[] = [];
  readonly faults: OutsideFaults = { connects: false, refused: 0, slow: 0, answerLost: 0 };
  readonly acceptances: Acceptances;
  /** Called for each key that was probed. */
  onProbed: ((key: EffectKey) => void) | undefined;
  callCount = 0;
  readonly #scheduler: Scheduler;
  readonly #network: Network;
  readonly #random: SeededRandom;
  readonly #witness: Witness;
  readonly #transcript: Transcript;
  readonly #compensatedRefs = new Set<string>();

  constructor(dependencies: {
    readonly scheduler: Scheduler;
    readonly network: Network;
    readonly random: SeededRandom;
    readonly witness: Witness;
    readonly transcript: Transcript;
  }) {
    this.#scheduler = dependencies.scheduler;
    this.#network = dependencies.network;
    this.#random = dependencies.random;
    this.#witness = dependencies.witness;
    this.#transcript = dependencies.transcript;
    this.acceptances = new Acceptances({
      ...dependencies,
      random: dependencies.random.fork('acceptances'),
      apply: (receiver, request) => this.apply(receiver, request),
    });
  }

  call(process: SimulatedProcess, receiver: ReceiverKind, request: Request): Promise<Json | PendingResult> {
    const { key, irreversible } = request;
    if (irreversible && !process.isDead) this.#checkIntention(process, key);
    const sentMs = this.#scheduler.nowMs;
    const send = (): Promise<Json | PendingResult> =>
      this.#send(process, receiver, request, () =>
        receiver === 'confirms' || receiver === 'announces' || receiver === 'silent'
          ? this.acceptances.accept(receiver, request, sentMs)
          : this.apply(receiver, request),
      );
    return this.faults.connects ? this.#connect(process).then(send) : send();
  }

  /** The call is under way in its process alone: one that is stopped here sends its request when it is continued, however late. */
  #connect(process: SimulatedProcess): Promise<void> {
    if (!this.#network.trap(process, 'outside', 'connect', 'sent')) return never();
    return new Promise((resolve) => {
      this.#scheduler.after(this.#network.tripMs('outside'), () => process.deliver(resolve));
    });
  }

  /** Compensates the request of that name, whether or not it was done; the same key again changes nothing. */
  async undo(process: SimulatedProcess, workflow: string, compensation: Compensation): Promise<void> {
    await this.#send(process, 'undo', compensation, () => {
      if (!this.ledger.has(compensation.key)) this.#undo(workflow, compensation);
      return null;
    });
  }

  #undo(workflow: string, { key, ref }: Compensation): void {
    const parent = workflow.slice(0, workflow.lastIndexOf('~'));
    this.#compensatedRefs.add(ref);
    this.acceptances.cancel(ref);
    this.ledger.set(key, { receiver: 'undo', workflow, ref, response: null, at: this.ledger.size, appliedCount: 1 });
    this.#transcript.add('outside', `undid ${ref} (${key})`);
    const stream = this.#witness.stream(parent);
    if (stream?.status !== 'compensating') {
      this.violations.push(`undo: ${ref} is compensated while ${parent} is ${stream?.status ?? 'not there'}`);
    }
    const open = (stream?.tasks ?? []).flatMap(({ effects }) => effects).filter(outcomeIsOpen);
    if (open.length > 1) {
      this.violations.push(
        `undo: ${ref} is compensated while nobody knows of ${open.map((effect) => effect.key).join(', ')}`,
      );
    }
  }

  /** A call takes effect within its time-out or never; its caller receives the answer, or learns at the time-out that it can't know. */
  #send<T>(
    process: SimulatedProcess,
    operation: string,
    { key, timeoutMs }: { readonly key: EffectKey; readonly timeoutMs: number },
    effect: () => T,
  ): Promise<T> {
    if (!this.#network.trap(process, 'outside', operation, 'sent')) return never();
    this.callCount++;
    this.#transcript.add(process.name, `call ${key}`);
    return new Promise((resolve, reject) => {
      const slow = this.#random.chance(this.faults.slow);
      const tripMs = slow ? this.#random.between(0.3, SLOWEST) * timeoutMs : this.#network.tripMs('outside');
      const timedOut = this.#scheduler.after(timeoutMs, () =>
        process.deliver(() => reject(new Error(`${key}: no answer within ${timeoutMs} ms`))),
      );
      if (tripMs > SLOWEST * timeoutMs) return;
      this.#scheduler.after(tripMs, () => {
        if (this.#network.isLost(process) || this.#network.isCut(process, 'outside')) return 'quiet';
        const refused = this.#random.chance(this.faults.refused);
        const response = refused ? undefined : effect();
        this.#network.trap(process, 'outside', operation, 'done');
        if (this.#random.chance(this.faults.answerLost) || this.#network.isCut(process, 'outside')) return 'quiet';
        this.#scheduler.after(this.#network.tripMs('outside'), () =>
          process.deliver(() => {
            this.#scheduler.cancel(timedOut);
            if (refused) reject(new NotDoneError('refused'));
            else resolve(response as T);
          }),
        );
        return 'quiet';
      });
    });
  }

  /** It happens, now. */
  apply(receiver: ReceiverKind, { workflow, key, request }: Pick<Request, 'workflow' | 'key' | 'request'>): Json {
    const known = this.ledger.get(key);
    if (known !== undefined && receiver !== 'probed' && receiver !== 'blind' && receiver !== 'announces') {
      return known.response;
    }
    const { ref } = request as { readonly ref?: string };
    const response = answerTo(request);
    const appliedCount = (known?.appliedCount ?? 0) + 1;
    this.ledger.set(key, { receiver, workflow, ref, response, at: known?.at ?? this.ledger.size, appliedCount });
    this.#transcript.add('outside', `applied ${key}${appliedCount > 1 ? ` (${appliedCount} times)` : ''}`);
    if (ref !== undefined && this.#compensatedRefs.has(ref)) {
      this.violations.push(`undo: ${key} was applied after it had been compensated`);
    }
    return response;
  }

  #checkIntention(process: SimulatedProcess, key: EffectKey): void {
    const status = this.#witness.effects.get(key)?.status;
    if (status === 'intended') return;
    this.violations.push(`I4: ${process.name} calls ${key}, which the log has as ${status ?? 'never intended'}`);
  }

  /** Whether the call of this key took place, as far as its receiver knows now. */
  async probe(process: SimulatedProcess, key: EffectKey): Promise<ProbeResult<Json>> {
    const result = await this.#network.call(process, 'outside', 'probe', () => this.#known(key));
    this.onProbed?.(key);
    this.#transcript.add(process.name, `probe ${key}: ${result.status}`);
    return result;
  }

  #known(key: EffectKey): ProbeResult<Json> {
    const known = this.ledger.get(key);
    if (known !== undefined) return { status: 'done', response: known.response };
    return { status: this.acceptances.isOpen(key) ? 'unknown' : 'not-done' };
  }
}
