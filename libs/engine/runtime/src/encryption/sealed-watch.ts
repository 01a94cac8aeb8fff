/**
 * Owns a view of the watch bus with encrypted messages: they are sealed with their workflow's key, and opened for those who may use it. A
 * message that can't be sealed is not sent, and one that can't be opened is dropped: nothing depends on a message. It stores none.
 */

import { KeyObject } from 'node:crypto';
import { openText, type SealingKey, sealText, textSealedWith } from '@tidemark/codec';
import type { WorkflowId } from '@tidemark/core';
import type { Keeping, WatchBus } from '@tidemark/ports';
import { isKeyOf } from './key-owner.ts';
import type { WorkflowKeys } from './workflow-keys.ts';

type Keys = Pick<WorkflowKeys, 'peek' | 'inUse' | 'opening'>;

interface Sending {
  readonly message: string;
  readonly keeping: Keeping;
}

export class SealedWatch implements WatchBus {
  readonly #inner: WatchBus;
  readonly #keys: Keys;
  /** The newest message of each workflow that waits for a key; later messages wait for it. */
  readonly #waiting = new Map<WorkflowId, Promise<void>>();

  constructor(inner: WatchBus, keys: Keys) {
    this.#inner = inner;
    this.#keys = keys;
  }

  publish(workflow: WorkflowId, message: string, keeping: Keeping): void {
    const before = this.#waiting.get(workflow);
    const key = before === undefined ? this.#keys.peek({ workflow }) : undefined;
    if (key === undefined) this.#sendLater(workflow, before ?? Promise.resolve(), { message, keeping });
    else this.#send(workflow, { message, keeping }, key);
  }

  release(workflow: WorkflowId, epoch: number): void {
    void (this.#waiting.get(workflow) ?? Promise.resolve()).then(() => this.#inner.release(workflow, epoch));
  }

  #sendLater(workflow: WorkflowId, before: Promise<void>, sending: Sending): void {
    const sent = before
      .then(() => this.#keys.inUse(workflow))
      .then((found) => found && this.#send(workflow, sending, found))
      .catch(() => {})
      .then(() => {
        if (this.#waiting.get(workflow) === sent) this.#waiting.delete(workflow);
      });
    this.#waiting.set(workflow, sent);
  }

  #send(workflow: WorkflowId, { message, keeping }: Sending, key: SealingKey): void {
    this.#inner.publish(workflow, sealText(message, placeOf(workflow), key), keeping);
  }

  /** Delivers messages one after the other, in their order. */
  subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>> {
    let reported = Promise.resolve();
    return this.#inner.subscribe(workflow, (message) => {
      reported = reported.then(async () => {
        const opened = await this.#opened(workflow, message).catch(() => undefined);
        if (opened !== undefined) listener(opened);
      });
    });
  }

  /** Undefined: it wasn't sealed, its key is gone, or the key belongs to another workflow. */
  async #opened(workflow: WorkflowId, message: string): Promise<string | undefined> {
    const id = textSealedWith(message);
    if (id === undefined || !isKeyOf(id, workflow)) return undefined;
    const key = (await this.#keys.opening(new Map([[id, workflow]]))).get(id);
    return key instanceof KeyObject ? openText(message, placeOf(workflow), key) : undefined;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

const placeOf = (workflow: WorkflowId): string => `watch/${workflow}`;
