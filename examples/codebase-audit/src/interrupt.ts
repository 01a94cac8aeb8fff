// Owns Ctrl-C and SIGTERM: the first asks to hand over and end in order, a second Ctrl-C ends the process at once.

import { constants } from 'node:os';
import { SECOND_INTERRUPT_MS } from './limits.ts';

export type Interrupt = {
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
  /** 128 and the number of the signal that came. */
  exitCode(): number;
};

export function takeInterrupts(): Interrupt {
  const asked = new AbortController();
  let firstMs = 0;
  let exitCode = 0;
  const onSignal = (name: 'SIGINT' | 'SIGTERM'): void => {
    const nowMs = performance.now();
    if (!asked.signal.aborted) {
      firstMs = nowMs;
      exitCode = 128 + constants.signals[name];
      asked.abort(new Error(`ended by ${name}`));
    } else if (nowMs - firstMs >= SECOND_INTERRUPT_MS) process.exit(exitCode);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return { signal: asked.signal, exitCode: () => exitCode };
}
