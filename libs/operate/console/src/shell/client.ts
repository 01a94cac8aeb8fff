/**
 * Owns requests to the server: one typed client, the key of the signed-in reader, and when queries are repeated. The key is kept for this
 * tab alone, and never stands in an address.
 */

import { QueryCache, QueryClient } from '@tanstack/react-query';
import { connect, TidemarkApiError } from '@tidemark/client';
import { shared } from './shared.ts';

const KEY_NAME = 'tidemark-key';

/** Poll interval of visible lists and counts, in milliseconds. */
export const LIST_PERIOD_MS = 3_000;

let key = window.sessionStorage.getItem(KEY_NAME) ?? '';

const signedOut = shared(false);
const lost = shared(false);

/** Whether the server needs to know the caller, and does not. */
export const useSignedOut = signedOut.use;

/** The server was unreachable, or failed, at the last request: the page may be old. */
export const useLost = lost.use;

/** Tries the key before it is kept. Throws `TidemarkApiError`. */
export async function signIn(given: string): Promise<void> {
  const tried = connect({ url: window.location.origin, token: given, tries: 1 });
  await tried.ask('GET /v1/workflows', { query: { limit: 1 } });
  key = given;
  window.sessionStorage.setItem(KEY_NAME, given);
  queries.clear();
  signedOut.set(false);
}

export function signOut(): void {
  key = '';
  window.sessionStorage.removeItem(KEY_NAME);
  queries.clear();
  signedOut.set(true);
}

export const hasKey = (): boolean => key !== '';

/** Any part of the console that was answered 401 calls this. */
export function noteRefusal(error: unknown): void {
  if (error instanceof TidemarkApiError && error.status === 401) signedOut.set(true);
}

function noteFailure(error: unknown): void {
  noteRefusal(error);
  lost.set(error instanceof TidemarkApiError && LOST_STATUSES.has(error.status));
}

/** There was no answer; or one by a proxy before an unreachable server. */
const LOST_STATUSES: ReadonlySet<number> = new Set([0, 502, 503, 504]);

/** Nothing is shown without a key, except by embedded folders, which need none. */
async function withKey(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  if (key === '') return fetch(input, init);
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${key}`);
  return fetch(input, { ...init, headers });
}

export const api = connect({ url: window.location.origin, fetch: withKey as typeof fetch, tries: 3 });

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noteFailure, onSuccess: () => lost.set(false) }),
  defaultOptions: {
    queries: {
      // The client retries by itself where that may help.
      retry: false,
      staleTime: 1_000,
      refetchOnWindowFocus: true,
    },
  },
});

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const codeOf = (error: unknown): string => (error instanceof TidemarkApiError ? error.code : 'unexpected');
