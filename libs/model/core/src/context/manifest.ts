/**
 * Owns the account of a bundle: what was kept, what was not and why, and the tokens of each lane. It grows with the history, so it is never
 * stored: it is rebuilt from fragments, policy and tokenizer, and the stored hash proves it. Plain JSON.
 */

import type { Sha256 } from '../event.ts';
import type { Absence } from './conversation.ts';
import type { Lane } from './policy.ts';

export type ItemState = 'kept' | 'over-budget' | Absence;

export type ManifestItem = {
  /** Set where only the beginning was kept: characters that are shown and that the whole has, and tokens that are missing, about. */
  readonly cut?: { readonly chars: number; readonly missing_tokens: number; readonly of_chars: number };
  /** The place of a fragment (`12.0`), or the name of another piece: `system`, `trace/12.0`, `working_memory/customer`. */
  readonly place: string;
  /** The type of a fragment; for other pieces `system` or their lane. */
  readonly type: string;
  readonly digest: Sha256;
  /** The count that the budget was charged; null where it was not needed. */
  readonly tokens: number | null;
  readonly state: ItemState;
};

export type ManifestLane = {
  readonly share: number;
  readonly kept: number;
  /** Tokens that were trimmed for the budget. */
  readonly trimmed: number;
  readonly tokens: number;
};

export type Manifest = {
  readonly version: number;
  readonly bundle_type: string;
  readonly policy: Sha256;
  readonly tokenizer: string;
  /** Digest of the canonical JSON of all messages, with placeholders resolved. */
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

/** Version of the rules of assembly. Any change of the rules that changes bytes needs a new version. */
export const MANIFEST_VERSION = 2;
