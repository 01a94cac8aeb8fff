/** Owns which version of Tidemark serves, as its package says. */

import { readFileSync } from 'node:fs';

export const OWN_VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version;
