/**
 * Owns one view of rows whose contents are encrypted: what is written is sealed with its workflow's key, what is read is opened. Rows
 * that were written before encryption was turned on are read as they are. Must not decide which columns (see row-texts.ts).
 */

import { openText, type SealingKey, sealText, textSealedWith } from '@tidemark/codec';
import type { WorkflowId } from '@tidemark/core';
import type { ProjectionStore, RecordOwner } from '@tidemark/ports';
import type { Turn } from './row-texts.ts';
import { type Owners, type Turning, turnedStore } from './turned-store.ts';
import { OpeningKeys, type WorkflowKeys } from './workflow-keys.ts';

/** What needs no key to be known. */
const isEmpty = (text: string): boolean => text === 'null' || text === '{}' || text === '';

export const sealedStore = (store: ProjectionStore, keys: WorkflowKeys): ProjectionStore =>
  turnedStore(store, new Sealing(keys));

class Sealing implements Turning {
  readonly #keys: WorkflowKeys;

  constructor(keys: WorkflowKeys) {
    this.#keys = keys;
  }

  /** With the keys that are at hand, and again once those that were lacking are found. Nothing of an owner leaves it unsealed. */
  async inward<T>(work: (seal: Turn) => T, ownersOf: () => Owners): Promise<T> {
    const owners = ownersOf();
    const keys = new Map<WorkflowId, SealingKey>();
    const lacking = new Set<RecordOwner>();
    const seal: Turn = (text, place, workflow) => {
      const owner = isEmpty(text) ? undefined : owners.get(workflow);
      if (owner === undefined) return text;
      const key = keys.get(workflow) ?? this.#keys.peek(owner);
      if (key === undefined) {
        lacking.add(owner);
        return text;
      }
      keys.set(workflow, key);
      return sealText(text, place, key);
    };
    for (;;) {
      const done = work(seal);
      if (lacking.size === 0) return done;
      await Promise.all(Array.from(lacking, async (owner) => keys.set(owner.workflow, await this.#keys.find(owner))));
      lacking.clear();
    }
  }

  /** With the keys that are at hand, and again once those that were lacking are fetched. No sealed text leaves it. */
  async outward<T>(work: (open: Turn) => T): Promise<T> {
    const keys = new OpeningKeys(this.#keys);
    const open: Turn = (text, place, workflow) => {
      const id = textSealedWith(text);
      if (id === undefined) return text;
      const key = keys.of(id, () => workflow);
      return key === undefined ? text : openText(text, place, key);
    };
    for (;;) {
      const done = work(open);
      if (!(await keys.fetched())) return done;
    }
  }
}
