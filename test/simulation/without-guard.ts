/**
 * Owns taking one guard out of the source as it is loaded: `node --import ./test/simulation/without-guard.ts
 * test/simulation/main.ts --without epoch`. Throws when the guard isn't found exactly once, so that the list keeps up with the
 * source. Works on a process of its own, and on threads not at all.
 */

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { mutated } from '../mutations/mutation.ts';
import { GUARDS } from './guards.ts';

const name = process.argv[process.argv.indexOf('--without') + 1] ?? '';
const guard = GUARDS[name];
if (guard === undefined) throw new Error(`--without: '${name}' is no guard; known: ${Object.keys(GUARDS).join(', ')}`);
const url = new URL(`../../${guard.file}`, import.meta.url);

const withoutGuard = (source: string): string => mutated(source, guard);

// Said at once, also when nothing loads the file.
withoutGuard(readFileSync(fileURLToPath(url), 'utf8'));

registerHooks({
  load(loaded, context, next) {
    const result = next(loaded, context);
    if (loaded !== url.href) return result;
    const source =
      typeof result.source === 'string' ? result.source : Buffer.from(result.source as Uint8Array).toString();
    return { ...result, source: withoutGuard(source) };
  },
});
