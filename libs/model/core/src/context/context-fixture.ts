/** Owns what the tests of context assembly are made of: fragments in a few words, and tokenizers that a reader can check by eye. */

import type { Sha256 } from '../event.ts';
import { sequence } from '../ids.ts';
import type { Fragment, FragmentType } from './fragment.ts';
import type { Tokenizer } from './tokenizer.ts';

/** One token for every four characters, rounded up. */
export const quarters: Tokenizer = { id: 'quarters', count: (text) => Math.ceil(text.length / 4) };
/** One token for each character, so joining costs exactly its line breaks. */
export const characters: Tokenizer = { id: 'characters', count: (text) => text.length };

export type Draft = readonly [type: FragmentType, text: string, more?: Partial<Fragment>];

/** Fragments at 1.0, 2.0, 3.0 … */
export function fragmentsOf(drafts: readonly Draft[], sha256: (text: string) => Sha256): readonly Fragment[] {
  return drafts.map(([type, text, more], at) => ({
    run: 0,
    sequence: sequence(at + 1),
    index: 0,
    type,
    text,
    digest: sha256(text),
    ...more,
  }));
}
