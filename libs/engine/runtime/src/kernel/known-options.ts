/** Owns refusing options that nothing reads, for callers without types: what a misspelt one asks for would be missing in silence. */

import { InvalidError } from '@tidemark/core';

/** `of`: the call, for people. Throws `InvalidError` (`option-unknown`). */
export function refuseUnknownOptions(of: string, options: object, known: readonly string[]): void {
  const option = Object.keys(options).find((each) => !known.includes(each));
  if (option === undefined) return;
  throw new InvalidError('option-unknown', `${of} takes no option ${option}. It takes: ${known.join(', ')}.`, {
    option,
  });
}
