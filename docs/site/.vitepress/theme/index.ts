/** Owns the theme: VitePress's own, in the console's colours. */

import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
