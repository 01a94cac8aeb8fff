/** Owns the words between the ledger's process and its callers: one JSON object a line, each answer with its question's number. */

import type { Application, Found, Receiver } from './ledger.ts';

export type Question =
  | { readonly do: 'apply'; readonly effect: Application; readonly pid: number }
  | { readonly do: 'find'; readonly receiver: Receiver; readonly key: string; readonly asPerson: boolean }
  | { readonly do: 'calm' };

export type Answer =
  | { readonly said: 'receipt'; readonly receipt: number }
  | ({ readonly said: 'found' } & Found)
  | { readonly said: 'nothing' }
  | { readonly said: 'refused'; readonly why: string };

export type Numbered<T> = T & { readonly n: number };

/** Cuts a stream of text into lines. */
export function lines(onLine: (line: string) => void): (chunk: Buffer | string) => void {
  let rest = '';
  return (chunk) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) onLine(line);
  };
}
