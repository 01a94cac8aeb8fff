/**
 * Owns what a fragment is: one typed, addressable piece of what an agent heard, said or did. Checkpoints append fragments, and nothing
 * changes one afterwards; a correction is another fragment. Must not know how texts are stored or counted.
 */

import type { Sha256 } from '../event.ts';
import type { Sequence } from '../ids.ts';

/** All types, in the order in which they appear in a bundle. */
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

/** Where a fragment stands. Places are totally ordered within the context of one workflow. */
export interface FragmentPlace {
  /**
   * Which workflow of the session: 0 for the one that owns this context, -1 for the one before it, and so on. So the places of a workflow's
   * own fragments never change.
   */
  readonly run: number;
  /** The checkpoint that added it; 0: the opening. */
  readonly sequence: Sequence;
  /** Its index in that checkpoint, 0, 1, 2 … */
  readonly index: number;
}

/** The places `[from, to]`, both included, of all messages, tool calls and tool results that a summary replaces. */
export interface CoveredRange {
  readonly from: FragmentPlace;
  readonly to: FragmentPlace;
}

/**
 * What a message has beside the text of its fragments: reasoning, signatures and ids of a provider, files. The first fragment of the
 * message has them.
 */
export interface FragmentParts {
  /** The provider that wants them back, and the only one that is sent them; null: any. */
  readonly provider: string | null;
  /** How many fragments of the same checkpoint are the message, this one included. They are kept, trimmed and summarised together. */
  readonly spans: number;
  /** A JSON array in the order of the message: see whole-message.ts. */
  readonly text: string;
  /** SHA-256 of the text's UTF-8 bytes. */
  readonly digest: Sha256;
}

export interface Fragment extends FragmentPlace {
  readonly type: FragmentType;
  readonly text: string;
  /** SHA-256 of the text's UTF-8 bytes. */
  readonly digest: Sha256;
  /** The name that the model gave the call; set on a tool call and on its result. */
  readonly call?: string | undefined;
  /** The tool; set on a tool call and on its result. The `text` of a call is its input as JSON. */
  readonly tool?: string | undefined;
  /** Set on a summary: what it covers. */
  readonly covers?: CoveredRange | undefined;
  readonly parts?: FragmentParts | undefined;
}

/** Compares places: negative when `a` comes before `b`. */
export const comparePlaces = (a: FragmentPlace, b: FragmentPlace): number =>
  a.run - b.run || a.sequence - b.sequence || a.index - b.index;

/** A place as people and manifests write it: `12.0`; in an earlier workflow of the session `-1/12.0`. */
export const placeName = ({ run, sequence, index }: FragmentPlace): string =>
  `${run === 0 ? '' : `${run}/`}${sequence}.${index}`;
