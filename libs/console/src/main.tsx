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

applyTheme();
createRoot(document.querySelector('#console')!).render(<App />);
