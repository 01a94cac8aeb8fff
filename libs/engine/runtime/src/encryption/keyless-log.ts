/**
 * Owns a view of a log for which no key was ever created: a sealed record can never be read, and is returned with a problem, so that the
 * fold stops its stream and no other. It must not be used where keys exist but are unavailable to this process: there a read must fail.
 */

import { sealedWith } from '@tidemark/codec';
import type { ReadRequest, ReadResult } from '@tidemark/ports';
import { LogView } from '../views/index.ts';

export class KeylessLog extends LogView {
  override async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.inner.read(requests, options);
    return results.map(({ records, ...result }) => ({
      ...result,
      records: records.map((record) =>
        record.problem === undefined && sealedWith(record.value) !== undefined
          ? { ...record, problem: 'key-missing' }
          : record,
      ),
    }));
  }
}
