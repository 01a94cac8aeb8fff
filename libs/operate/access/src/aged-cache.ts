/**
 * Owns what is remembered of a lookup and for how long: each answer is used for a named time after its request, then it is requested again.
 * Concurrent callers share one request. A failure is never remembered, and an answer that is too old is never returned in its place.
 */

import type { Clock } from '@tidemark/ports';

export interface AgedCacheOptions<V> {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly ageMaxMs: number;
  /** Most answers that are remembered, the last used ones; and most absences. */
  readonly maxCount: number;
  readonly undefinedMaxCount: number;
  readonly load: (key: string) => Promise<V | undefined>;
}

interface Answer<V> {
  readonly fetchedMs: number;
  readonly value: Promise<V | undefined>;
}

export class AgedCache<V> {
  readonly #options: AgedCacheOptions<V>;
  readonly #found = new Map<string, Answer<V>>();
  /** Apart from the answers, so that a caller who requests many absent ones evicts no answer. */
  readonly #absent = new Map<string, Answer<V>>();

  constructor(options: AgedCacheOptions<V>) {
    this.#options = options;
  }

  /** Rejects as `look` does. */
  get(key: string): Promise<V | undefined> {
    const known = this.#found.get(key) ?? this.#absent.get(key);
    const nowMs = this.#options.clock.monotonicMs();
    if (known !== undefined && nowMs - known.fetchedMs < this.#options.ageMaxMs) return this.#used(key, known);
    return this.#ask(key, nowMs);
  }

  /** The next call requests it again. */
  forget(key: string): void {
    this.#found.delete(key);
    this.#absent.delete(key);
  }

  #used(key: string, answer: Answer<V>): Promise<V | undefined> {
    if (this.#found.delete(key)) this.#found.set(key, answer);
    return answer.value;
  }

  #ask(key: string, fetchedMs: number): Promise<V | undefined> {
    this.forget(key);
    const answer: Answer<V> = { fetchedMs, value: this.#options.load(key) };
    // Until there is an answer it counts as absent.
    keep(this.#absent, key, answer, this.#options.undefinedMaxCount);
    answer.value.then(
      (value) => {
        if (value === undefined || this.#absent.get(key) !== answer) return;
        this.#absent.delete(key);
        keep(this.#found, key, answer, this.#options.maxCount);
      },
      () => {
        if (this.#absent.get(key) === answer) this.#absent.delete(key);
      },
    );
    return answer.value;
  }
}

function keep<V>(answers: Map<string, V>, key: string, answer: V, maxCount: number): void {
  answers.set(key, answer);
  if (answers.size <= maxCount) return;
  for (const oldest of answers.keys()) {
    answers.delete(oldest);
    return;
  }
}
