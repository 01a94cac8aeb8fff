/** Owns how the console is built: small parts that are loaded when they are needed, and nothing inline, as the page's policy has it. */

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    outDir: process.env.TIDEMARK_CONSOLE_OUT ?? 'dist',
    emptyOutDir: true,
    // A `data:` font or script would be refused by the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
