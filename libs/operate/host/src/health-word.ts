/** Owns the messages between a process and the thread that answers its probes. Must import no code, so that the thread stays small. */

import type { Health } from '@tidemark/runtime';
import type { ListenAddress } from './listen-address.ts';

/** Longest silence of the process, in milliseconds. */
export interface SilenceLimits {
  readonly readyMs: number;
  readonly liveMs: number;
}

export interface HealthThreadData extends ListenAddress {
  readonly service: string;
  readonly limits: SilenceLimits;
}

/** The process's report. */
export type HealthWord = Health;

/** The thread's first and only message. */
export type HealthThreadWord =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string };
