/**
 * Owns one view of a log of which no key was ever made: a record that says it is sealed can never be read, and is handed up so, for the
 * fold to stop its stream and no other. Must not be laid over a log whose keys are only lacking here: there a read must fail.
 */

import { sealedWith } from '@tidemark/codec';
import type { EventLog, LogRecord, ReadRequest, ReadResult } from '@tidemark/ports';
import { type Prepared, TransformingLog } from '../views/index.ts';

export class KeylessLog extends TransformingLog {
  readonly recordMaxBytes: number;
  readonly inlineMaxBytes: number | undefined;

  constructor(inner: EventLog) {
    super(inner);
    this.recordMaxBytes = inner.recordMaxBytes;
    this.inlineMaxBytes = inner.inlineMaxBytes;
  }

  protected override atOnce(records: readonly LogRecord[]): readonly LogRecord[] {
    return records;
  }

  protected override async prepare(records: readonly LogRecord[]): Promise<Prepared> {
    return { records };
  }

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
