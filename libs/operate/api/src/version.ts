/** Owns the version of Tidemark that serves, from its package. */

import { readFileSync } from 'node:fs';

export const OWN_VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version;
