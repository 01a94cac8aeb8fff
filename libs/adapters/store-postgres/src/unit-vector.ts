/** Owns scaling vectors to length 1, as they are stored and compared, and refusing what is no vector. */

import { InvalidError } from '@tidemark/core';
import { VECTOR_DIMENSION_MAX } from './limits.ts';

/** Throws `InvalidError` (`embedding-invalid`): empty, too long, or with numbers that aren't finite. All zeros stay zeros. */
export function unitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (vector.length === 0 || vector.length > VECTOR_DIMENSION_MAX || !Number.isFinite(squares)) {
    const message = `An embedding has 1 to ${VECTOR_DIMENSION_MAX} finite numbers, this one ${vector.length}`;
    throw new InvalidError('embedding-invalid', message, { dimension: vector.length });
  }
  const norm = Math.sqrt(squares);
  return norm === 0 ? vector : vector.map((value) => value / norm);
}
