/**
 * Owns how long an assistant's server holds a folder. An assistant runs for days, and a folder has one holder: so the server holds it for a
 * call, a moment longer for the next one, and never so long that another command on the folder gives up waiting. Each call looks again for
 * a server, or another process that holds the folder (`tidemark dev`): nothing of that is cached.
 */

import { TidemarkApiError } from '@tidemark/client';
import type { Place } from '../place/place.ts';

/** How long, in milliseconds, a folder is held after the last call, and at most while calls follow one another. */
const HELD_IDLE_MS = 500;
const HELD_MAX_MS = 2_000;
/** Pause, in milliseconds, between two polls whether its users have ended. */
const TURN_PAUSE_MS = 15;
/** How long, in milliseconds, a call waits for a folder that one and the same process holds; an assistant has more patience than a person. */
export const PATIENCE_MS = 45_000;

interface Opened {
  readonly place: Place;
  readonly openedAtMs: number;
  /** Held by this process. */
  readonly isHeld: boolean;
  userCount: number;
  timer: NodeJS.Timeout | undefined;
}

export class SharedPlace {
  readonly #open: (signal: AbortSignal) => Promise<Place>;
  #opened: Promise<Opened> | undefined;
  /** The folder is being released. */
  #closing: Promise<void> = Promise.resolve();
  /** Aborts when the server ends. */
  readonly #ended = new AbortController();

  constructor(open: (signal: AbortSignal) => Promise<Place>) {
    this.#open = open;
  }

  /** `read`: work that may be repeated, when the process that holds the folder ends meanwhile. */
  async use<T>(how: 'read' | 'write', work: (place: Place) => Promise<T>): Promise<T> {
    for (let mayRepeat = how === 'read'; ; mayRepeat = false) {
      const opened = await this.#acquire();
      try {
        return await work(opened.place);
      } catch (error) {
        if (!mayRepeat || opened.place.holder === null || !isUnanswered(error)) throw error;
      } finally {
        await this.#release(opened);
      }
    }
  }

  /** Calls under way must have ended before, or wait for the folder: then they fail. */
  async close(): Promise<void> {
    this.#ended.abort();
    const opened = await this.#opened?.catch(() => undefined);
    if (opened !== undefined) await this.#close(opened);
    await this.#closing;
  }

  async #acquire(): Promise<Opened> {
    for (;;) {
      await this.#closing;
      this.#opened ??= this.#openShared();
      const opening = this.#opened;
      const opened = await opening.catch((error: unknown) => {
        if (this.#opened === opening) this.#opened = undefined;
        throw error;
      });
      if (this.#opened !== opening) continue;
      if (!opened.isHeld) {
        this.#opened = undefined;
        return opened;
      }
      if (isOverdue(opened) && opened.userCount > 0) {
        // Its users end first, then others get a turn.
        await new Promise((resolve) => setTimeout(resolve, TURN_PAUSE_MS));
        continue;
      }
      clearTimeout(opened.timer);
      opened.userCount += 1;
      return opened;
    }
  }

  async #openShared(): Promise<Opened> {
    const place = await this.#open(this.#ended.signal);
    const isHeld = place.kind === 'folder' && place.holder === null;
    return { place, isHeld, openedAtMs: performance.now(), userCount: 0, timer: undefined };
  }

  async #release(opened: Opened): Promise<void> {
    if (!opened.isHeld) return opened.place.close();
    opened.userCount -= 1;
    if (opened.userCount > 0 || this.#ended.signal.aborted) return;
    if (isOverdue(opened)) {
      await this.#close(opened);
      return;
    }
    opened.timer = setTimeout(() => {
      if (opened.userCount === 0) void this.#close(opened);
    }, HELD_IDLE_MS);
  }

  #close(opened: Opened): Promise<void> {
    clearTimeout(opened.timer);
    this.#opened = undefined;
    // Its state is durable, and the next holder, who comes before this process's next call, opens it again.
    this.#closing = opened.place.close().catch(() => {});
    return this.#closing;
  }
}

const isOverdue = ({ openedAtMs }: Opened): boolean => performance.now() - openedAtMs >= HELD_MAX_MS;

const isUnanswered = (error: unknown): boolean => error instanceof TidemarkApiError && error.status === 0;
