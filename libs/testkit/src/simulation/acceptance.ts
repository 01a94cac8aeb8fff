/**
 * Owns receivers that accept under a token and confirm later: what they accepted, when it happens (or fails), and the messages that they
 * have to send about it. All of it survives every crash. people.ts delivers the messages.
 */

import type { EffectKey, Json } from '@tidemark/core';
import { PendingResult } from '@tidemark/runtime';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Transcript } from './transcript.ts';

/**
 * `deduplicates` by key; `probed` doesn't, and has a probe; `blind` has neither. The others accept, and confirm later: `confirms`
 * deduplicates, `announces` doesn't and has a probe, and `silent` reports nothing of the first that it accepts.
 */
export type ReceiverKind = 'deduplicates' | 'probed' | 'blind' | 'confirms' | 'announces' | 'silent';

export interface Request {
  readonly workflow: string;
  readonly key: EffectKey;
  readonly request: Json;
  readonly timeoutMs: number;
  readonly irreversible: boolean;
}

/** A message that is sent until it counts. */
export interface Message {
  readonly workflow: string;
  readonly key: EffectKey;
  readonly token: string;
  readonly confirmation: { readonly response: Json } | { readonly error: string };
  isDelivered: boolean;
}

interface Acceptance {
  readonly token: string;
  readonly ref: string | undefined;
  state: 'open' | 'done' | 'failed' | 'cancelled';
  endedMs: number;
}

/** From the acceptance to its outcome, in milliseconds. */
const TAKES_MS = { min: 1, max: 2_500 };
const FAILS = 0.25;
/** The same key fails so many times at most. */
const FAILURES_MAX = 3;

export class Acceptances {
  readonly messages: Message[] = [];
  /** Called for every new message to deliver. */
  onMessage: ((messages: Message) => void) | undefined;
  readonly #byKey = new Map<EffectKey, Acceptance[]>();
  readonly #dependencies: AcceptancesOptions;

  constructor(dependencies: AcceptancesOptions) {
    this.#dependencies = dependencies;
  }

  isOpen(key: EffectKey): boolean {
    return this.#byKey.get(key)?.some(({ state }) => state === 'open') ?? false;
  }

  /** An accepted call that is compensated never happens: compensation cancels it. */
  cancel(ref: string): void {
    for (const acceptance of [...this.#byKey.values()].flat()) {
      if (acceptance.ref === ref && acceptance.state === 'open') acceptance.state = 'cancelled';
    }
  }

  /** A repetition sent before a failure is a copy of the failed call, and no new request. */
  accept(receiver: ReceiverKind, request: Request, sentMs: number): PendingResult | Json {
    const { scheduler, random, transcript, apply } = this.#dependencies;
    const { key } = request;
    const before = this.#byKey.get(key) ?? [];
    const last = before.at(-1);
    if (receiver !== 'announces' && last?.state === 'open') return new PendingResult(last.token);
    if (receiver !== 'announces' && last?.state === 'failed' && sentMs <= last.endedMs)
      return new PendingResult(last.token);
    if (receiver !== 'announces' && last?.state === 'done') return apply(receiver, request);
    const { ref } = request.request as { readonly ref?: string };
    const acceptance: Acceptance = { token: `${key}/${before.length + 1}`, ref, state: 'open', endedMs: 0 };
    this.#byKey.set(key, [...before, acceptance]);
    transcript.add('outside', `accepted ${acceptance.token}`);
    const fails = before.length < FAILURES_MAX && random.chance(FAILS);
    const isReported = receiver !== 'silent' || before.length > 0;
    scheduler.after(random.between(TAKES_MS.min, TAKES_MS.max), () => {
      if (acceptance.state === 'cancelled') return 'quiet';
      acceptance.state = fails ? 'failed' : 'done';
      acceptance.endedMs = scheduler.nowMs;
      transcript.add('outside', `${acceptance.token} is ${acceptance.state}`);
      const confirmation = fails ? { error: 'refused in the end' } : { response: apply(receiver, request) };
      if (isReported)
        this.#send({ workflow: request.workflow, key, token: acceptance.token, confirmation, isDelivered: false });
      return 'quiet';
    });
    return new PendingResult(acceptance.token);
  }

  #send(messages: Message): void {
    this.messages.push(messages);
    this.onMessage?.(messages);
  }
}

export interface AcceptancesOptions {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly transcript: Transcript;
  readonly apply: (receiver: ReceiverKind, request: Request) => Json;
}
