/** Owns how a fork's base reads, in words. Pure. */

import { printable } from '../text/width.ts';

interface Base {
  readonly workflow: string;
  readonly sequence_number: number;
  readonly effects: string;
}

/** `fork of order-1 at #2, effects replay`. */
export const forkWords = ({ workflow, sequence_number: sequence, effects }: Base): string =>
  `fork of ${printable(workflow)} at #${sequence}, effects ${effects}`;
