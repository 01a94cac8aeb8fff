/** Owns what the reader may do, as the server reports it: refused actions are not offered. */

import { useAsk } from './ask.ts';

export type Right = 'read' | 'content' | 'operate' | 'decide' | 'administer';

const useMe = () =>
  // Roles of keys may change.
  useAsk(['me'], 'GET /v1/me', {}, { staleTime: 60_000 });

/** No rights, until they are known. */
export function useMay(): (right: Right) => boolean {
  const rights: readonly string[] = useMe().data?.rights ?? [];
  return (right) => rights.includes(right);
}
