/**
 * Owns where the reader is: the page's address, in decoded parts, and navigation. Ids of workflows may hold any character, so parts are
 * split before they are decoded.
 */

import { useMemo, useSyncExternalStore } from 'react';

export interface Address {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const CHANGED = 'tidemark:place';

function subscribe(heard: () => void): () => void {
  for (const name of ['popstate', CHANGED]) window.addEventListener(name, heard);
  return () => {
    for (const name of ['popstate', CHANGED]) window.removeEventListener(name, heard);
  };
}

/** `/workflows/a%2Fb?at=3`, exactly as in the address. */
const current = (): string => window.location.pathname + window.location.search;

export function placeOf(address: string): Address {
  const [path = '', query = ''] = address.split('?', 2);
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
  return { parts, query: new URLSearchParams(query) };
}

/** An invalid encoding stands for itself. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function usePlace(): Address {
  const address = useSyncExternalStore(subscribe, current);
  return useMemo(() => placeOf(address), [address]);
}

/** An address from unencoded parts; undefined and empty members of the query are left out. */
export function addressOf(
  parts: readonly string[],
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const path = `/${parts.map(encodeURIComponent).join('/')}`;
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') asked.set(name, String(value));
  }
  return asked.size === 0 ? path : `${path}?${asked}`;
}

/** `replaces`: the browser's Back does not lead here. */
export function go(address: string, { replaces = false }: { readonly replaces?: boolean } = {}): void {
  if (address === current()) return;
  if (replaces) window.history.replaceState(null, '', address);
  else window.history.pushState(null, '', address);
  window.dispatchEvent(new Event(CHANGED));
}

export const workflowAddress = (workflow: string, query?: Parameters<typeof addressOf>[1]): string =>
  addressOf(['workflows', workflow], query);
