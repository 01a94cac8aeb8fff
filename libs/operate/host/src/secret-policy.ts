/** Owns how a process reports secrets that its workflows store: each place and kind of a definition once, as a warning. */

import type { OnSecret, SecretPolicy } from '@tidemark/runtime';

/** Places that are remembered as reported, at most. */
const PLACES_MAX_COUNT = 1_000;

/** `onWarning`: absent, they are only counted. */
export function secretPolicy(
  onSecret: OnSecret,
  onWarning: ((code: string, message: string) => void) | undefined,
): SecretPolicy {
  if (onWarning === undefined) return { onSecret };
  const reported = new Set<string>();
  return {
    onSecret,
    onStored: ({ definition, field, place, kind }) => {
      // One item of a list is like another.
      const where = `${definition}, ${field}${place.replaceAll(/\/\d+(?=\/|$)/g, '/*')}`;
      const key = `${where} ${kind}`;
      if (reported.has(key)) return;
      if (reported.size >= PLACES_MAX_COUNT) reported.clear();
      reported.add(key);
      onWarning(
        'secret-stored',
        kind === 'too-large-to-search'
          ? `${where}: this is too large to be searched for secrets to its end (4,194,304 characters, or 1,000 secrets), and was stored as it is. Under mask and refuse it would be refused: store less of it, or keep it as a file.`
          : `${where}: what looks like a secret (${kind}) was stored. Leave it out, mark the field with secret(), or set onSecret of the definition, or TIDEMARK_ON_SECRET, to mask or refuse.`,
      );
    },
  };
}
