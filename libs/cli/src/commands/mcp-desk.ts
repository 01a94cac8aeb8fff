/**
 * Owns how long an assistant's server keeps Tidemark's own state open. An assistant is there for days, and a folder has one
 * holder: so the server holds it for a call, a moment longer for the next one, and never so long that another command on the
 * folder gives up waiting. A process that holds the folder (`tidemark dev`) is asked through its socket, and a cluster is
 * nobody's: both stay connected.
 */

import { ConfigError } from '@tidemark/core';
import type { Desk } from '../state/desk.ts';

/** How long, in milliseconds, a folder is held after the last call, and at most while calls follow one another. */
const HELD_IDLE_MS = 500;
const HELD_MAX_MS = 2_000;
/** Pause, in milliseconds, in which others who wait for the folder get it. */
const TURN_PAUSE_MS = 150;
/** How long, in milliseconds, a call waits for a folder that others hold by turns; an assistant has more patience than a person. */
const PATIENCE_MS = 45_000;

interface Lent {
  readonly desk: Desk;
  readonly openedAtMs: number;
  readonly isHeld: boolean;
  userCount: number;
  isGone: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class LentDesk {
  readonly #open: () => Promise<Desk>;
  #lent: Promise<Lent> | undefined;
  /** The folder is let go. */
  #closing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(open: () => Promise<Desk>) {
    this.#open = open;
  }

  /** `look`: work that may be repeated, when the process that holds the folder ends while it is asked. */
  async use<T>(how: 'look' | 'write', work: (desk: Desk) => Promise<T>): Promise<T> {
    for (let mayRepeat = how === 'look'; ; mayRepeat = false) {
      const lent = await this.#borrow();
      try {
        return await work(lent.desk);
      } catch (error) {
        if (!mayRepeat || !lent.isGone) throw error;
      } finally {
        await this.#giveBack(lent);
      }
    }
  }

  /** Calls under way have ended before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const lent = await this.#lent?.catch(() => undefined);
    if (lent !== undefined) await this.#letGo(lent);
    await this.#closing;
  }

  async #borrow(): Promise<Lent> {
    for (;;) {
      await this.#closing;
      this.#lent ??= this.#lend();
      const lending = this.#lent;
      const lent = await lending.catch((error: unknown) => {
        if (this.#lent === lending) this.#lent = undefined;
        throw error;
      });
      if (this.#lent !== lending) continue;
      if (lent.isGone) {
        await this.#letGo(lent);
        continue;
      }
      if (isOverdue(lent) && lent.userCount > 0) {
        // Those who use it end first, then others get a turn.
        await new Promise((resolve) => setTimeout(resolve, TURN_PAUSE_MS / 10));
        continue;
      }
      clearTimeout(lent.timer);
      lent.userCount += 1;
      return lent;
    }
  }

  async #lend(): Promise<Lent> {
    const desk = await this.#openPatiently();
    const isHeld = desk.place.kind === 'embedded' && desk.place.holder === null;
    const lent: Lent = {
      ...{ desk, isHeld, openedAtMs: performance.now(), userCount: 0, isGone: false },
      timer: undefined,
    };
    if (!isHeld && desk.place.kind === 'embedded') {
      await desk.onNews(({ type }) => {
        if (type === 'gone') lent.isGone = true;
      });
    }
    return lent;
  }

  /** Each try waits for a while itself. */
  async #openPatiently(): Promise<Desk> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await this.#open();
      } catch (error) {
        const isInUse = error instanceof ConfigError && error.code === 'log-locked';
        if (!isInUse || this.#isClosed || performance.now() > deadlineMs) throw error;
      }
    }
  }

  async #giveBack(lent: Lent): Promise<void> {
    lent.userCount -= 1;
    if (lent.userCount > 0 || !lent.isHeld || this.#isClosed) return;
    if (isOverdue(lent)) {
      await this.#letGo(lent);
      return;
    }
    lent.timer = setTimeout(() => {
      if (lent.userCount === 0) void this.#letGo(lent);
    }, HELD_IDLE_MS);
  }

  #letGo(lent: Lent): Promise<void> {
    clearTimeout(lent.timer);
    this.#lent = undefined;
    const pauseMs = lent.isHeld && isOverdue(lent) ? TURN_PAUSE_MS : 0;
    this.#closing = lent.desk
      .close()
      .catch(() => {}) // what it held is durable, and the next one opens it anew
      .then(() => (pauseMs === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, pauseMs))));
    return this.#closing;
  }
}

const isOverdue = ({ isHeld, openedAtMs }: Lent): boolean => isHeld && performance.now() - openedAtMs >= HELD_MAX_MS;
