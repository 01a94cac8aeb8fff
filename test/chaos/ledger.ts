/**
 * Owns the ledger: what the agents' effects act on, as three kinds of receivers would take them. `dedupe` applies a key once
 * and answers repetitions as the first time; `probed` applies every call, and can be asked about a key; `blind` applies every
 * call and can't be asked. Each applied effect is in the file before it is answered. The ledger stands outside of what may
 * fail: it is never killed, and what it holds is the truth that a run is judged by.
 */

import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';

export const receivers = ['dedupe', 'probed', 'blind'] as const;
export type Receiver = (typeof receivers)[number];

export interface Application {
  readonly receiver: Receiver;
  readonly key: string;
  /** What the effect means, whatever its key: one that is applied twice for one meaning counted twice. */
  readonly action: string;
  readonly amount: number;
}

export interface LedgerEntry extends Application {
  readonly atMs: number;
  /** 2 for the second application of this action, and so on. */
  readonly times: number;
  /** Process that called. */
  readonly pid: number;
}

/** Ends the action that undoes another. */
export const UNDONE = '~undone';

/** What a receiver knows of a key. */
export interface Found {
  readonly receipt: number;
  readonly action: string;
}

/** What the receiver answers: a number that only the request decides, so that outputs can be computed without it. */
export function receiptOf(action: string, amount: number): number {
  return createHash('sha256').update(`${action} ${amount}`).digest().readUInt16BE(0);
}

export class Ledger {
  readonly entries: LedgerEntry[] = [];
  readonly #file: string | undefined;
  readonly #keys = new Map<string, LedgerEntry>();
  readonly #times = new Map<string, number>();

  /** Appends to the file, where one is given. */
  constructor(file?: string) {
    this.#file = file;
  }

  /** Applies the effect as its receiver does; returns the receipt. */
  apply(effect: Application, pid: number, atMs: number): number {
    const known = this.#keys.get(keyOf(effect.receiver, effect.key));
    if (effect.receiver === 'dedupe' && known !== undefined) return receiptOf(known.action, known.amount);
    const times = (this.#times.get(effect.action) ?? 0) + 1;
    const { receiver, key, action, amount } = effect;
    const entry: LedgerEntry = { receiver, key, action, amount, atMs, times, pid };
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    this.#times.set(action, times);
    this.#keys.set(keyOf(receiver, key), entry);
    this.entries.push(entry);
    return receiptOf(action, amount);
  }

  /** What was applied under the key; undefined when nothing was. */
  find(receiver: Receiver, key: string): Found | undefined {
    const entry = this.#keys.get(keyOf(receiver, key));
    return entry === undefined ? undefined : { receipt: receiptOf(entry.action, entry.amount), action: entry.action };
  }
}

const keyOf = (receiver: Receiver, key: string): string => `${receiver} ${key}`;
