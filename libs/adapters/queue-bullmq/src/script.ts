/** Owns sending a Lua script of a file: by digest, and whole when the server doesn't know it (new, restarted, flushed). */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

export interface Script {
  run(redis: Redis, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** The script that the files make, one after the other: those before the last one have functions that several scripts share. */
export function script(...files: readonly URL[]): Script {
  const lua = files.map((file) => readFileSync(file, 'utf8')).join('\n');
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
