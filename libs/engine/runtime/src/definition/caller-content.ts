/**
 * Owns the check of content that callers send (inputs, signals, answers, beliefs of forks, memories). No caller has the text of a sealed
 * secret field, so content with one is refused here, before anything could open it. Pure.
 */

import { NAME_MAX_CHARS, sealedSecret } from '@tidemark/codec';
import { InvalidError } from '@tidemark/core';

/** Throws `InvalidError` (`secret-sealed`), which names the field and the place in it. Members that JSON omits are checked as well. */
export function refuseSealed(field: string, value: unknown): void {
  const seen = new Set<object>();
  const left: { readonly value: unknown; readonly place: string }[] = [{ value, place: '' }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value: each, place } = next;
    if (typeof each === 'string' && sealedSecret(each) !== undefined) throw sealed(field, place);
    if (typeof each !== 'object' || each === null || seen.has(each)) continue;
    seen.add(each);
    for (const [name, member] of Object.entries(each)) left.push({ value: member, place: `${place}/${name}` });
  }
}

const sealed = (field: string, place: string): InvalidError => {
  const shown = place.slice(0, NAME_MAX_CHARS);
  return new InvalidError(
    'secret-sealed',
    `${field}${shown}: this is the text of a sealed secret field, which callers can't send. Send the value itself.`,
    { field, place: shown },
  );
};
