/** Owns the entries that wait to be written: of which tenant, since when, and when they are too many. One tenant's never count against another. */

import type { TenantId } from '@tidemark/core';
import { Room } from '@tidemark/ports';
import { AUDIT_BEHIND_MAX_MS, AUDIT_WAITING_MAX_COUNT } from './limits.ts';

/** Null: the tenant isn't known yet. */
type Whose = TenantId | null;

interface Waited {
  readonly sinceMs: number;
}

export interface WaitingPlace {
  /** Sets the tenant once it is known. */
  move(whose: TenantId): void;
  leave(): void;
}

export class AuditBacklog {
  readonly #room = new Room(AUDIT_WAITING_MAX_COUNT);
  /** In order of arrival. */
  readonly #waiting = new Map<Whose, Set<Waited>>();

  add(whose: Whose, sinceMs: number): WaitingPlace {
    const waited = { sinceMs };
    let leave = this.#put(whose, waited);
    return {
      move: (to) => {
        leave();
        leave = this.#put(to, waited);
      },
      leave: () => leave(),
    };
  }

  isBehind(whose: Whose, nowMs: number): boolean {
    const [oldest] = this.#waiting.get(whose) ?? [];
    const isLate = oldest !== undefined && nowMs - oldest.sinceMs > AUDIT_BEHIND_MAX_MS;
    return isLate || !this.#room.hasFor(whose);
  }

  #put(whose: Whose, waited: Waited): () => void {
    const of = this.#waiting.get(whose) ?? new Set();
    this.#waiting.set(whose, of.add(waited));
    const giveBack = this.#room.take(whose);
    return () => {
      giveBack();
      of.delete(waited);
      if (of.size === 0 && this.#waiting.get(whose) === of) this.#waiting.delete(whose);
    };
  }
}
