/** Owns loading the clients of a cluster's servers, which a laptop need not have installed. */

import { readFileSync } from 'node:fs';
import { ConfigError, messageOf } from '@tidemark/core';

const NAME = '@tidemark/cluster';

/** Throws `ConfigError` (`package-missing`). `what`: what needs them, as a sentence begins. */
export const clusterPackage = (what: string): Promise<typeof import('@tidemark/cluster')> =>
  import('@tidemark/cluster').catch((error: unknown) => {
    const { code } = error as { readonly code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' || !messageOf(error).includes(`'${NAME}'`)) throw error;
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    const install = `npm install ${NAME}@${version}`;
    throw new ConfigError('package-missing', `${what} needs the package ${NAME}, which is not installed: ${install}`);
  });
