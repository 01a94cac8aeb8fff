/** Owns what a process and the thread that answers its probes say to each other. Must import no code: the thread is to stay small. */

import type { Health } from '@tidemark/runtime';
import type { ListenAddress } from './listen-address.ts';

/** How long the process may tell nothing, in milliseconds. */
export interface SilenceLimits {
  readonly readyMs: number;
  readonly liveMs: number;
}

export interface HealthThreadData extends ListenAddress {
  readonly service: string;
  readonly limits: SilenceLimits;
}

/** The process's word on itself. */
export type HealthWord = Health;

/** The thread's first and only word. */
export type HealthThreadWord =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string };
