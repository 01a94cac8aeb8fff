/**
 * Owns what tells the closures of a step apart that have no name: the chain of calls that led to each. A call leaves its mark in the context
 * of the code that makes it, so that whatever this code calls next, or awaits and then calls, finds it. Code that runs beside it doesn't.
 * It decides nothing about what is recorded.
 *
 * P1 A path depends on the code alone: not on which call arrived, began or ended first, nor on whether it was answered from the journal.
 * P2 Closures whose order the code doesn't give have the same path.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sha256 } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { digestOf } from '../kernel/index.ts';

interface Mark {
  /** Whose mark it is: code that several attempts share, such as a queue, may run in the context of any of them. */
  readonly attempt: object;
  readonly path: string;
}

const marks = new AsyncLocalStorage<Mark>();

/** Runs the step: its calls, and no others, find the marks of this attempt. */
export const markedFrom = <T>(attempt: object, step: () => T): T => marks.run({ attempt, path: '' }, step);

/**
 * The path of a call, which must be asked for in the turn of the event loop in which the call is made. `what` tells it apart from others
 * that the same code could make there; a call with a name is known by that alone, wherever it is made.
 */
export function pathOf(
  attempt: object,
  digest: Digest,
  operation: string,
  name: string | undefined,
  what = '',
): Sha256 {
  const mark = marks.getStore();
  const before = mark?.attempt === attempt && name === undefined ? mark.path : '';
  const path = digestOf(digest, name === undefined ? [before, operation, what] : [operation, name]);
  marks.enterWith({ attempt, path });
  return path;
}

/** Must be called in a turn of its own, before the body of a closure runs: what it calls is told apart from what follows the closure. */
export function enterBody(attempt: object, path: Sha256): void {
  marks.enterWith({ attempt, path: `${path} body` });
}
