/** Owns loading the clients of a cluster's servers, which a laptop need not have installed. */

import { packageMissing } from '@tidemark/core';

/** Throws `ConfigError` (`package-missing`). `what`: what needs them, as a sentence begins. */
export const clusterPackage = (what: string): Promise<typeof import('@tidemark/cluster')> =>
  import('@tidemark/cluster').catch((error: unknown) => {
    throw packageMissing(error, '@tidemark/cluster', what);
  });
