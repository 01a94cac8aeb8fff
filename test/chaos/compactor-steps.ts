/** Owns the words in which a compactor that may be killed tells where it is, waiting for them, and the count of where each was killed. */

const STEP = /^step ([a-z-]+)(?: (\d+))?$/;

export const stepLine = (step: string, count?: number): string =>
  `step ${step}${count === undefined ? '' : ` ${count}`}\n`;

/** What is between the reading of the log and the end of a segment: a compactor that dies there leaves something half done. */
export const halfDone = ['object', 'read-back', 'manifest', 'record', 'trim', 'drop'] as const;

interface Wish {
  readonly step: string | undefined;
  leftCount: number;
  readonly met: () => void;
}

/** Listens to one process after the other in one place. */
export class StepCounts {
  /** How often a process was killed in each step; `idle`: between two passes, or amid one that found nothing. */
  readonly killed = new Map<string, number>();
  /** Segments and events that were archived as far as the processes told. */
  segmentCount = 0;
  eventCount = 0;
  readonly #last = new Map<string, string>();
  readonly #wishes = new Map<string, Wish>();

  /** Resolves when the process of that place has told so many steps (of the one name, or any), or is gone, or after that time. */
  async until(place: string, step: string | undefined, count: number, maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wishes.set(place, { step, leftCount: count, met: resolve });
    const timer = setTimeout(resolve, maxMs);
    await promise;
    clearTimeout(timer);
    this.#wishes.delete(place);
  }

  /** `place`: whose line it is. */
  hear(place: string, line: string): void {
    const [, step, count] = STEP.exec(line) ?? [];
    if (step === undefined) return;
    this.#last.set(place, step === 'done' ? 'next' : step);
    const wish = this.#wishes.get(place);
    if (wish !== undefined && (wish.step === undefined || wish.step === step) && --wish.leftCount === 0) wish.met();
    if (step !== 'done') return;
    this.segmentCount++;
    this.eventCount += Number(count);
  }

  /** The process of that place was killed, and all that it told was heard. */
  ended(place: string): void {
    const step = this.#last.get(place) ?? 'starting';
    this.#last.delete(place);
    this.#wishes.get(place)?.met();
    this.killed.set(step, (this.killed.get(step) ?? 0) + 1);
  }
}
