/** Owns refusing options that nothing reads, for callers without types: what a misspelt one asks for would be missing in silence. */

import { InvalidError } from '@tidemark/core';

/** Every option, so that none that the types have can be forgotten. */
export type KnownOptions<Options> = Readonly<Record<keyof Options, true>>;

/** `of`: the call, for people. Throws `InvalidError` (`option-unknown`). */
export function refuseUnknownOptions<Options extends object>(
  of: string,
  options: Options,
  known: KnownOptions<Options>,
): void {
  const option = Object.keys(options).find((each) => !Object.hasOwn(known, each));
  if (option === undefined) return;
  const all = Object.keys(known).join(', ');
  throw new InvalidError('option-unknown', `${of} takes no option ${option}. It takes: ${all}.`, { option });
}
