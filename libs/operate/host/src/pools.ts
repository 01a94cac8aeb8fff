/** Owns which work a pool of workers takes: that of the definitions which its modules export. */

import { ConfigError } from '@tidemark/core';
import type { Pool } from '@tidemark/runtime';
import type { PoolConfig } from './config.ts';
import { loadDefinitions } from './load-definitions.ts';

/** Undefined: no pools are named. Throws `ConfigError` (`pool-twice`, and as `loadDefinitions` does). */
export async function loadPools(configs: readonly PoolConfig[], cwd: string): Promise<readonly Pool[] | undefined> {
  if (configs.length === 0) return undefined;
  const pools: Pool[] = [];
  for (const { name, modules } of configs) {
    if (pools.some((pool) => pool.name === name)) {
      throw new ConfigError(
        'pool-twice',
        `TIDEMARK_POOLS: the pool '${name}' is named twice; name its modules together.`,
      );
    }
    const definitions = await loadDefinitions(modules, cwd);
    pools.push({ name, definitions: new Set(definitions.map((definition) => definition.name)) });
  }
  return pools;
}
