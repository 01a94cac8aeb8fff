/** Owns the digest of a JSON value: SHA-256 of its canonical text, so that equal values have equal digests. Pure. */

import { canonicalJson } from '@tidemark/codec';
import type { Json, Sha256 } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';

export const digestOf = (digest: Digest, value: Json): Sha256 => digest.sha256(canonicalJson(value));
