/**
 * Owns the scripted person of a run: looks for workflows that the recovery table handed to a person, finds out in the ledger what
 * became of the effect in question, and decides. Like a careful person it waits first until no call can be under way any more.
 */

import { type Question, TidemarkError } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { Json } from '@tidemark/sdk';
import type { Receiver } from './ledger.ts';
import { LedgerClient } from './ledger-client.ts';
import { LEDGER_TIMEOUT_MS, PERSON_PERIOD_MS, PERSON_WAIT_MS } from './limits.ts';

const BY = 'chaos person';

/** Where the effects of each operation end up. */
const receiverOf: Readonly<Record<string, Receiver>> = {
  'chaos.deposit': 'dedupe',
  'chaos.stamp': 'dedupe',
  'chaos.wire': 'probed',
  'chaos.booking': 'probed',
  'chaos.cash': 'blind',
};

export class Person {
  decidedCount = 0;
  readonly #host: Host;
  readonly #ledger: LedgerClient;
  readonly #parked: () => Iterable<string>;
  readonly #onSurprise: (what: string) => void;
  /** When each question was first seen, on the monotonic clock. */
  readonly #asked = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;

  /** `parked` names the workflows that wait. */
  constructor(host: Host, ledgerPort: number, parked: () => Iterable<string>, onSurprise: (what: string) => void) {
    this.#host = host;
    this.#ledger = new LedgerClient(ledgerPort);
    this.#parked = parked;
    this.#onSurprise = onSurprise;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#polling ??= this.#pollAll().finally(() => {
        this.#polling = undefined;
      });
    }, PERSON_PERIOD_MS);
  }

  /** Decides nothing more. A decision that waits for servers is left: the host's close ends it. */
  stop(): void {
    clearInterval(this.#timer);
    this.#ledger.close();
  }

  async #pollAll(): Promise<void> {
    for (const workflow of [...this.#parked()]) {
      try {
        await this.#consider(workflow);
      } catch (error) {
        // Servers that are away come back, and a question that is settled already is no question.
        const code = error instanceof TidemarkError ? error.code : String(error);
        if (!HARMLESS.test(code)) this.#onSurprise(`deciding ${workflow}: ${error}`);
      }
    }
  }

  async #consider(workflow: string): Promise<void> {
    const question = (await this.#host.client.run(workflow).summary())?.question;
    if (question === undefined || question === null) return;
    const now = performance.now();
    const sinceMs = this.#asked.get(question.id) ?? now;
    this.#asked.set(question.id, sinceMs);
    if (now - sinceMs < PERSON_WAIT_MS) return;
    await this.#host.client.decide(workflow, { question: question.id, by: BY, ...(await this.#answer(question)) });
    this.decidedCount++;
  }

  /** What became of the effect; where none is in question, it is to be tried again. */
  async #answer({ key, code }: Pick<Question, 'key' | 'code'>) {
    // It was committed on its receiver's own answer.
    if (key === null || code === 'validator-missing')
      return { resolution: 'retry', why: 'nothing is in doubt' } as const;
    const operation = Object.keys(receiverOf).find((name) => key.includes(`:${name}:`));
    if (operation === undefined) return { resolution: 'retry', why: 'no effect of the ledger' } as const;
    const signal = AbortSignal.timeout(LEDGER_TIMEOUT_MS);
    const found = await this.#ledger.find(receiverOf[operation]!, key, true, signal);
    if (found === undefined) return { resolution: 'not-done', why: 'the ledger does not hold it' } as const;
    const { receipt, action } = found;
    const response: Json = operation === 'chaos.booking' ? { receipt, action } : { receipt };
    return { resolution: 'done', why: 'the ledger holds it', response } as const;
  }
}

const HARMLESS =
  /unavailable|rebuilding|missing|client-closed|not-asked|already-decided|question-differs|workflow-unknown/;
