/** Owns the waiting for a consumer's slots. */

import type { TenantId } from '@tidemark/core';
import { TenantSlots } from '@tidemark/ports';

export class Slots extends TenantSlots {
  #waiting: (() => void)[] = [];
  #isClosed = false;

  get isOnlyKept(): boolean {
    return this.free > 0 && this.open === 0;
  }

  override give(): void {
    super.give();
    this.#wake();
  }

  override narrow(max?: number): void {
    super.narrow(max);
    this.#wake();
  }

  override begin(tenant: TenantId): void {
    super.begin(tenant);
    if (this.open === 0) this.#wake();
  }

  /** Resolves when any tenant may have a slot, or on `close`. */
  available(): Promise<void> {
    return this.#until(() => this.open > 0);
  }

  /** Resolves when all free slots are reserved ones, or on `close`. */
  onlyKept(): Promise<void> {
    return this.#until(() => this.isOnlyKept);
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!this.#isClosed && !isSo()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
