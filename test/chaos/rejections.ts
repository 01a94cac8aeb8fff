/** Owns which rejections a sound run may have: those by which fencing works, and what comes too late. Any other says that somebody wrote what can't be taken. */

import { type Envelope, type Generation, nextEra, type RejectReason } from '@tidemark/core';

/** Events of a holder that was replaced, and repetitions. Doctor's list and the alert's are longer: what comes after an end and users' own mistakes are in them. */
export const FENCED: ReadonlySet<RejectReason> = new Set(['stale-epoch', 'wrong-holder', 'duplicate']);
/** What an event is refused for when its workflow has closed, and when another has been opened in its place since. */
const AFTER_END: ReadonlySet<RejectReason> = new Set(['closed', 'wrong-generation']);

/** What has been opened and fenced in one partition, as the log goes on: what was overtaken on its way into it can be told. */
export class Openings {
  readonly #opened = new Set<string>();
  #generation = 0 as Generation;
  /** No opening that was under way at the last fence names a later one. */
  #fencedTo = 0 as Generation;

  /** An event that was accepted. */
  saw(envelope: Envelope): void {
    if (envelope.type === 'WorkflowOpened') {
      this.#opened.add(streamOf(envelope));
      this.#generation = envelope.generation;
    }
    if (envelope.type === 'PartitionFenced') {
      this.#fencedTo = nextEra(this.#generation);
      this.#generation = this.#fencedTo;
    }
  }

  /**
   * It came behind the end of its workflow: the next of the partition is opened there, so that `wrong-generation` of one that was opened says so.
   * Or it is an opening that a fence overtook, as of two processes that make the same new partition: it is placed anew.
   */
  isOvertaken(reason: RejectReason, envelope: Envelope): boolean {
    if (AFTER_END.has(reason) && this.#opened.has(streamOf(envelope))) return true;
    return reason === 'wrong-generation' && envelope.type === 'WorkflowOpened' && envelope.generation <= this.#fencedTo;
  }
}

const streamOf = ({ workflow, generation }: Envelope): string => `${workflow}/${generation}`;
