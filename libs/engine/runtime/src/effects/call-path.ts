/**
 * Owns what tells the calls of a step apart that have no name: the chain of calls that led to each. A call leaves its mark in the context
 * of the code that makes it, so that whatever this code calls next, or awaits and then calls, finds it. Code that runs beside it doesn't.
 * It decides nothing about what is recorded.
 *
 * P1 A path depends on the code alone: not on which call arrived, began or ended first, nor on whether it was answered from the journal.
 * P2 Calls whose order the code doesn't give have the same path.
 * P3 A place is a path without what was asked, so a call whose request has changed still has it. It says whether the call was made in the
 *    order of the code: nothing but what the journal handed over came before it.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sha256 } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { digestOf } from '../kernel/index.ts';

/** Digits of a place's digest, which tells the calls of one task apart; and what follows them where the code gives the order. */
const PLACE_CHARS = 12;
const IN_ORDER = '!';

export const isInOrder = (place: string | undefined): boolean => place?.endsWith(IN_ORDER) === true;
export const isSamePlace = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && one.slice(0, PLACE_CHARS) === other?.slice(0, PLACE_CHARS);

interface Mark {
  /** Whose mark it is: code that several attempts share, such as a queue, may run in the context of any of them. */
  readonly attempt: object;
  path: string;
  readonly place: string;
}

/** Where a call without a name is made. */
export interface Way {
  readonly path: Sha256;
  readonly place: string;
  /** What follows the call finds a path as if it had asked this. */
  readonly asked: (what: Sha256) => void;
}

const marks = new AsyncLocalStorage<Mark>();

/** Runs the step: its calls, and no others, find the marks of this attempt. */
export const markedFrom = <T>(attempt: object, step: () => T): T => marks.run({ attempt, path: '', place: '' }, step);

/**
 * The way to a call, which must be asked for in the turn of the event loop in which the call is made. `what` tells it apart from others
 * that the same code could make there; a call with a name is known by that alone, wherever it is made.
 */
export function wayTo(
  attempt: object,
  digest: Digest,
  { operation, name, what = '', isInOrder = false }: WayAsked,
): Way {
  const found = marks.getStore();
  const before = found?.attempt === attempt && name === undefined ? found : { path: '', place: '' };
  const pathOf = (asked: string): Sha256 =>
    digestOf(digest, name === undefined ? [before.path, operation, asked] : [operation, name]);
  const place = digestOf(digest, [before.place, operation, name ?? null]).slice(0, PLACE_CHARS);
  const mark: Mark = { attempt, path: pathOf(what), place };
  marks.enterWith(mark);
  const asked = (other: Sha256): void => {
    mark.path = pathOf(other);
  };
  return { path: mark.path as Sha256, place: isInOrder ? place + IN_ORDER : place, asked };
}

interface WayAsked {
  readonly operation: string;
  readonly name: string | undefined;
  readonly what?: string | undefined;
  readonly isInOrder?: boolean | undefined;
}

/** Must be called in a turn of its own, before the body of a closure runs: what it calls is told apart from what follows the closure. */
export function enterBody(attempt: object, { path, place }: Way): void {
  marks.enterWith({ attempt, path: `${path} body`, place: `${place} body` });
}

/**
 * Whether the step only does what follows, without waiting for anything else, from its beginning or from an outcome that it was given: its
 * calls then come in the order of the code.
 */
export class Breath {
  #isOpen = false;
  #number = 0;
  #end = Promise.resolve();

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Call in the turn in which the step begins, or is given an outcome. */
  begin(): void {
    this.#isOpen = true;
    const number = ++this.#number;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#end = promise;
    // From within a microtask, the next tick comes once all microtasks are done, and before anything from outside.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (number === this.#number) this.#isOpen = false;
        resolve();
      }),
    );
  }

  /** Resolves when all calls of this breath have been made. */
  ended(): Promise<void> {
    return this.#isOpen ? this.#end : Promise.resolve();
  }
}
