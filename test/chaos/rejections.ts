/** Owns which rejections a sound run may have: those by which fencing works, and what comes too late. Any other says that somebody wrote what can't be taken. */

import type { Envelope, RejectReason } from '@tidemark/core';

/** Events of a holder that was replaced, and repetitions. Doctor's list and the alert's are longer: what comes after an end and users' own mistakes are in them. */
export const FENCED: ReadonlySet<RejectReason> = new Set(['stale-epoch', 'wrong-holder', 'duplicate']);
/** What an event is refused for when its workflow has closed, and when another has been opened in its place since. */
const AFTER_END: ReadonlySet<RejectReason> = new Set(['closed', 'wrong-generation']);

/** The workflows of one partition that have been opened, as the log goes on: what comes to one behind its end can be told. */
export class Openings {
  readonly #opened = new Set<string>();

  /** An event that was accepted. */
  saw(envelope: Envelope): void {
    if (envelope.type === 'WorkflowOpened') this.#opened.add(streamOf(envelope));
  }

  /** The next workflow of the partition is opened behind the end of the one before, so that `wrong-generation` of one that was opened says so. */
  isAfterEnd(reason: RejectReason, envelope: Envelope): boolean {
    return AFTER_END.has(reason) && this.#opened.has(streamOf(envelope));
  }
}

const streamOf = ({ workflow, generation }: Envelope): string => `${workflow}/${generation}`;
