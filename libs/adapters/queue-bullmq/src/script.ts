/** Owns sending a Lua script: by digest, and whole when the server doesn't know it (new, restarted, flushed). */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

export interface Script {
  run(redis: Redis, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

export function script(lua: string): Script {
  const sha = hash('sha1', lua);
  return {
    async run(redis, keys, args) {
      try {
        return await redis.evalsha(sha, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return redis.eval(lua, keys.length, ...keys, ...args);
      }
    },
  };
}

/** The script that these files make, one after the other: those before the last one have functions that scripts share. */
export const scriptOf = (...files: readonly URL[]): Script =>
  script(files.map((file) => readFileSync(file, 'utf8')).join('\n'));
