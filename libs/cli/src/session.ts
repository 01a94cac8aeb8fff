/** Owns what a command is given of its surroundings, and Ctrl-C: once asks to end in order, twice ends at once. */

import { EXIT } from '@tidemark/host';
import type { Terminal } from './terminal.ts';

export interface Session {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array | string>;
}

export interface Interruption {
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Lets signals do what they do by default again. */
  release(): void;
}

/** Takes SIGINT and SIGTERM; a second SIGINT ends the process at once with 130. */
export function takeInterrupts(): Interruption {
  const asked = new AbortController();
  const onSignal = (): void => {
    if (asked.signal.aborted) process.exit(EXIT.interrupted);
    asked.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: asked.signal,
    release() {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
