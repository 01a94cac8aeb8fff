/**
 * Owns that a service prints nothing but log lines: what libraries and workflows print by `console`, what Node warns of, and the error that
 * ends the process. Node's own last words, when memory runs out, are beyond it.
 */

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { failureReporter, logLine } from './log.ts';

/** `fatal` ends the process. Warnings that repeat are counted, as failures are: a library in a loop would bury the line that names the cause. */
export function logWhatIsPrinted(fatal: (error: unknown) => never): void {
  const report = failureReporter();
  globalThis.console = new Console({
    stdout: lines((text) => logLine('info', text, PRINTED)),
    stderr: lines((text) => report('console', text)),
  });
  // Node's own listener would print it.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => report('node', warning));
  process.on('uncaughtException', fatal);
}

const PRINTED = { where: 'console' };

/** One call of `console` is one chunk. */
const lines = (log: (text: string) => void): Writable =>
  new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      log(String(chunk).trimEnd());
      done();
    },
  });
