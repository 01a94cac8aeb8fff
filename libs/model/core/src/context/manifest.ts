/**
 * Owns the account of a bundle: what was kept, what was not and why, and the tokens of each lane. It is never stored, since it
 * grows with the history: it follows again from fragments, policy and tokenizer, and its hash, which is stored, proves it. Plain JSON.
 */

import type { Sha256 } from '../event.ts';
import type { Absence } from './conversation.ts';
import type { Lane } from './policy.ts';

export type ItemState = 'kept' | 'over-budget' | Absence;

export type ManifestItem = {
  /** A fragment's place (`12.0`), or the name of a piece that is no fragment: `system`, `trace/12.0`, `working_memory/customer`. */
  readonly place: string;
  /** A fragment's type; of other pieces `system` or their lane. */
  readonly type: string;
  readonly digest: Sha256;
  /** As counted for the budget; null where the count made no difference and was not taken. */
  readonly tokens: number | null;
  readonly state: ItemState;
};

export type ManifestLane = {
  readonly share: number;
  readonly kept: number;
  /** Given up for the budget. */
  readonly trimmed: number;
  readonly tokens: number;
};

export type Manifest = {
  readonly version: number;
  readonly bundle_type: string;
  readonly policy: Sha256;
  readonly tokenizer: string;
  /** Of the canonical JSON of all messages, placeholders resolved. */
  readonly messages: Sha256;
  readonly directives: { readonly kept: number; readonly tokens: number };
  readonly lanes: Readonly<Record<Lane, ManifestLane>>;
  /** System context first, then fragments by place, then the other pieces. */
  readonly items: readonly ManifestItem[];
  readonly placeholders: { readonly resolved: readonly string[]; readonly unknown: readonly string[] };
  readonly totals: {
    readonly items: number;
    readonly kept: number;
    readonly token_estimate: number;
    readonly token_budget: number;
  };
};

/** Of the rules of assembly: a change of them that changes bytes is a new version. */
export const MANIFEST_VERSION = 1;
