/** Owns how a fork's base is told, in JSON and in words. Pure. */

import type { Fork } from '@tidemark/core';
import { printable } from '../text/width.ts';

export const forkJson = (fork: Fork | undefined) =>
  fork === undefined
    ? {}
    : { fork: { workflow: fork.workflow, sequence_number: fork.sequence, effects: fork.effects } };

/** `fork of order-1 at #2, effects replay`. */
export const forkWords = ({ workflow, sequence, effects }: Fork): string =>
  `fork of ${printable(workflow)} at #${sequence}, effects ${effects}`;
