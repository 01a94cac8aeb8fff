/**
 * Owns what a fragment is: one typed, addressable piece of what an agent was told, said or did. Fragments are appended with
 * checkpoints and never changed; a correction is a further fragment. Must not know how texts are stored or counted.
 */

import type { Sha256 } from '../event.ts';
import type { Sequence } from '../ids.ts';

/** All types, in the order in which a reader of a bundle meets them. */
export const FRAGMENT_TYPES = [
  'task_goal',
  'constraint',
  'summary',
  'checkpoint_note',
  'user_message',
  'agent_message',
  'tool_call',
  'tool_result',
] as const;
export type FragmentType = (typeof FRAGMENT_TYPES)[number];

/** Where a fragment stands: total order within the context of one workflow. */
export interface FragmentPlace {
  /**
   * Which workflow of the session: 0 for the one whose context this is, -1 for the one before it, and so on; so places of a
   * workflow's own fragments never change.
   */
  readonly run: number;
  /** The checkpoint that brought it; 0: the opening. */
  readonly sequence: Sequence;
  /** Its index in that checkpoint, 0, 1, 2 … */
  readonly index: number;
}

/** What a summary stands for: all messages, tool calls and tool results of places `[from, to]`, both included. */
export interface CoveredRange {
  readonly from: FragmentPlace;
  readonly to: FragmentPlace;
}

export interface Fragment extends FragmentPlace {
  readonly type: FragmentType;
  readonly text: string;
  /** SHA-256 of the text's UTF-8 bytes. */
  readonly digest: Sha256;
  /** Of a tool call and its result: what the model named the call. Both go together. */
  readonly call?: string | undefined;
  /** Of a tool call and its result: the tool. A call's `text` is its input as JSON. */
  readonly tool?: string | undefined;
  /** Of a summary: what it absorbed. */
  readonly covers?: CoveredRange | undefined;
}

/** Order of places: negative when `a` stands before `b`. */
export const comparePlaces = (a: FragmentPlace, b: FragmentPlace): number =>
  a.run - b.run || a.sequence - b.sequence || a.index - b.index;

/** A place as people and manifests name it: `12.0`; of an earlier workflow of the session `-1/12.0`. */
export const placeName = ({ run, sequence, index }: FragmentPlace): string =>
  `${run === 0 ? '' : `${run}/`}${sequence}.${index}`;
