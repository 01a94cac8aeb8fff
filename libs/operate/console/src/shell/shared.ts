/** Owns a value that changes outside of components, and that they show as it is. */

import { useSyncExternalStore } from 'react';

export function shared<T>(initial: T) {
  let value = initial;
  const heard = new Set<() => void>();
  const listen = (hear: () => void) => {
    heard.add(hear);
    return () => heard.delete(hear);
  };
  return {
    set: (next: T): void => {
      value = next;
      for (const hear of heard) hear();
    },
    use: (): T => useSyncExternalStore(listen, () => value),
  };
}
