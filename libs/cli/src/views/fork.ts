/** Owns how a fork's base is told, in words. Pure. */

import type { Fork } from '@tidemark/core';
import { printable } from '../text/width.ts';

/** `fork of order-1 at #2, effects replay`. */
export const forkWords = ({ workflow, sequence, effects }: Fork): string =>
  `fork of ${printable(workflow)} at #${sequence}, effects ${effects}`;
