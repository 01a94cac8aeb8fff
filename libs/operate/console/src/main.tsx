/** The page's start: its look, and the frame. No logic of its own. */

import { createRoot } from 'react-dom/client';
import './styles/fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/parts.css';
import './styles/layout.css';
import './styles/tables.css';
import './styles/tree.css';
import { App } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';

/** Least time between two reloads of the whole page for a missing part, in milliseconds: a new build has replaced it. */
const RELOAD_PERIOD_MS = 30_000;

window.addEventListener('vite:preloadError', (event) => {
  const atMs = Number(window.sessionStorage.getItem('tidemark-reloaded') ?? '0');
  if (Date.now() - atMs < RELOAD_PERIOD_MS) return;
  event.preventDefault();
  window.sessionStorage.setItem('tidemark-reloaded', String(Date.now()));
  window.location.reload();
});

applyTheme();
createRoot(document.querySelector('#console')!).render(<App />);
