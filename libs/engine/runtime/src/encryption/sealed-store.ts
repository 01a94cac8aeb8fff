/**
 * Owns the transform of rows with encrypted content: writes are sealed with the workflow's key, reads are opened. Plain content is accepted
 * from workflows that have no key, and refused from those that have one. It does not decide which columns (see row-texts.ts).
 */

import { openText, type SealingKey, sealText, textSealedWith } from '@tidemark/codec';
import { CorruptError, type WorkflowId } from '@tidemark/core';
import type { RecordOwner } from '@tidemark/ports';
import type { ContentTransform, Owners, TransformText } from '../views/index.ts';
import { OpeningKeys, type WorkflowKeys } from './workflow-keys.ts';

/** Content that reveals nothing, and needs no key. */
const isEmpty = (text: string): boolean => text === 'null' || text === '{}' || text === '';

export class SealedTexts implements ContentTransform {
  readonly #keys: WorkflowKeys;

  constructor(keys: WorkflowKeys) {
    this.#keys = keys;
  }

  /** Works with cached keys first, and again once missing ones are found. Nothing with an owner leaves it unsealed. */
  async inward<T>(work: (seal: TransformText) => T, ownersOf: () => Owners): Promise<T> {
    const owners = ownersOf();
    const keys = new Map<WorkflowId, SealingKey>();
    const lacking = new Set<RecordOwner>();
    const seal: TransformText = (text, place, workflow) => {
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

  /** Works with cached keys first, and again once missing ones are fetched. No sealed text leaves it. */
  async outward<T>(work: (open: TransformText) => T): Promise<T> {
    const keys = new OpeningKeys(this.#keys);
    const plain = new Map<WorkflowId, string>();
    const open: TransformText = (text, place, workflow) => {
      const id = textSealedWith(text);
      if (id === undefined) {
        if (workflow !== undefined && !isEmpty(text)) plain.set(workflow, place);
        return text;
      }
      const key = keys.of(id, workflow);
      return key === undefined ? text : openText(text, place, key);
    };
    for (;;) {
      const done = work(open);
      if (await keys.fetched()) continue;
      await this.#refusePlain(plain);
      return done;
    }
  }

  /** `plain`: one place for each workflow that has plain content. */
  async #refusePlain(plain: ReadonlyMap<WorkflowId, string>): Promise<void> {
    if (plain.size === 0) return;
    for (const workflow of await this.#keys.withKeys([...plain.keys()]))
      throw plainText(workflow, plain.get(workflow)!);
  }
}

const plainText = (workflow: WorkflowId, place: string): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `What is stored at ${place} is not encrypted, though workflow ${workflow} has a key: it was changed, or written before encryption was turned on. Nothing was taken from it. Rebuild the rows from the log: tidemark admin rebuild.`,
    { workflow, place },
  );
