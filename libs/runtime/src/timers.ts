/**
 * Owns the firing of durable timers. A timer's anchor and delay are in the log; a coordinator's clock only decides the moment.
 * The event's id derives from the timer, so two coordinators that fire it write the same event.
 */

import { eventId } from '@tidemark/core';
import type { DueTimer } from '@tidemark/ports';
import type { Inbox } from './inbox.ts';
import { TIMER_PAGE_COUNT } from './limits.ts';
import type { Ports } from './ports.ts';

export class Timers {
  readonly #ports: Pick<Ports, 'store' | 'clock'>;
  readonly #inbox: Inbox;
  /** Fired here and still in the rows. */
  #fired = new Set<string>();

  constructor(ports: Pick<Ports, 'store' | 'clock'>, inbox: Inbox) {
    this.#ports = ports;
    this.#inbox = inbox;
  }

  /** Fires what is due now. */
  async fire(): Promise<void> {
    const due = await this.#ports.store.dueTimers(this.#ports.clock.nowMs(), TIMER_PAGE_COUNT);
    const names = new Set(due.map(nameOf));
    this.#fired = new Set([...this.#fired].filter((name) => names.has(name)));
    await Promise.all(due.filter((timer) => !this.#fired.has(nameOf(timer))).map((timer) => this.#fire(timer)));
  }

  async #fire(timer: DueTimer): Promise<void> {
    await this.#inbox.write(timer, eventId(`timer:${timer.timer}`), 'TimerFired', { timer: timer.timer }, null);
    this.#fired.add(nameOf(timer));
  }
}

const nameOf = (timer: DueTimer): string => `${timer.workflow} ${timer.timer}`;
