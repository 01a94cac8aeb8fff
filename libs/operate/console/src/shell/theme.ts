/** Owns light and dark: as in the system unless the reader chose, which this browser remembers. */

import { useSyncExternalStore } from 'react';
import { shared } from './shared.ts';

export type Theme = 'system' | 'light' | 'dark';

const NAME = 'tidemark-theme';

function stored(): Theme {
  const found = window.localStorage.getItem(NAME);
  return found === 'light' || found === 'dark' ? found : 'system';
}

const chosen = shared(stored());

export function applyTheme(theme: Theme = stored()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') window.localStorage.removeItem(NAME);
  else window.localStorage.setItem(NAME, theme);
  applyTheme(theme);
  chosen.set(theme);
}

const system = window.matchMedia('(prefers-color-scheme: dark)');

/** The other one than the current, for a single button. */
export function useOtherTheme(): Theme {
  const isSystemDark = useSyncExternalStore(
    (hear) => {
      system.addEventListener('change', hear);
      return () => system.removeEventListener('change', hear);
    },
    () => system.matches,
  );
  const theme = chosen.use();
  return (theme === 'system' ? isSystemDark : theme === 'dark') ? 'light' : 'dark';
}
