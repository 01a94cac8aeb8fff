/** Owns a command's environment, and Ctrl-C: the first one asks it to end in order, the second ends it at once. */

import path from 'node:path';
import type { ReadStream } from 'node:tty';
import { EXIT } from '@tidemark/host/exit-codes';
import type { Terminal } from './terminal.ts';

export interface Session {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array | string> & Keys;
  /** Source of SIGINT and SIGTERM; absent: this process. */
  readonly signals?: Signals;
}

export type Signals = Pick<NodeJS.EventEmitter, 'on' | 'off'>;

/** A terminal's keyboard; absent where there is none. */
export type Keys = Partial<Pick<ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'>>;

/**
 * The folder in which the user ran the command. `npm run` runs its script in the repository's folder instead, and says where it was called;
 * a process that another script starts ignores that.
 */
export function calledIn(env: Session['env'], cwd: string): string {
  const { INIT_CWD: called, npm_lifecycle_event: script, npm_package_json: manifest } = env;
  const isScript = script === 'tidemark' && manifest !== undefined && path.dirname(manifest) === cwd;
  return isScript && called !== undefined && called !== '' ? called : cwd;
}

export interface Interruption {
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Restores the default handling of signals. */
  release(): void;
}

/** Handles SIGINT and SIGTERM; a second SIGINT ends the process at once with 130. */
export function takeInterrupts({ signals = process }: Pick<Session, 'signals'>): Interruption {
  const asked = new AbortController();
  const onSignal = (): void => {
    if (asked.signal.aborted) process.exit(EXIT.interrupted);
    asked.abort();
  };
  signals.on('SIGINT', onSignal);
  signals.on('SIGTERM', onSignal);
  return {
    signal: asked.signal,
    release() {
      signals.off('SIGINT', onSignal);
      signals.off('SIGTERM', onSignal);
    },
  };
}
