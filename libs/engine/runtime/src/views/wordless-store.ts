/**
 * Owns a view of rows that keeps no words of memories, and so no vectors made from them: memories are stored only in sealed form, and are
 * found by name, kind and age, not by content.
 */

import { ConfigError } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import { overridden } from '../kernel/index.ts';

export const wordlessStore = <Said>(store: ProjectionStore<Said>): ProjectionStore<Said> =>
  overridden<ProjectionStore<Said>>(store, {
    apply: (batch) => store.apply({ ...batch, memories: batch.memories?.map((row) => ({ ...row, words: '' })) }),
    recall: async () => {
      throw new ConfigError(
        'memory-words-off',
        'Nothing is found by what it says: TIDEMARK_MEMORY_WORDS is off, so rows have no words of memories. List them by kind, or name one.',
      );
    },
  });
