/**
 * Owns how records lie in the file: which are packed (those that their writer marks as packing well), and with which base beside the preset
 * dictionary. A base is a few earlier records of the partition, which share ids and words with the later ones. Knows rows, not SQL. Must
 * not decide what is read or deleted, but says what a row needs.
 *
 * B1 A record of a base has no base itself, so one read unpacks anything.
 * B2 A base lies less than `BASE_REACH_RECORDS` before each record packed with it.
 */

import { PACKING_BASE_MAX_BYTES, type Packing, pack, unpack } from '@tidemark/codec';
import { keepLast } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import { BASE_REACH_RECORDS } from './limits.ts';

/** Most records of a base with which others are packed (see packed-records.ts): two turns with a model. */
export const BASE_MAX_RECORDS = 8;
/** Bases kept in memory for writing, and as many for reading, each of at most 16 KiB: one per partition with records that pack well. */
const BASES_MAX = 256;

/** The stored form of a value. `base`: offset of the base's first record, null without one; `baseRecords`: how many records it has. */
export interface PackedValue {
  readonly value: Uint8Array;
  readonly packing: Packing;
  readonly base: number | null;
  readonly baseRecords: number;
}

/** The unpacked values of a base, in order. */
export type ReadBase = (partition: number, base: number, baseRecords: number) => readonly Uint8Array[];

interface Base {
  readonly from: number;
  readonly records: number;
  readonly bytes: Uint8Array;
}

/** Packs appended records, in the order of the offsets. */
export class RecordPacker {
  /** For each partition with packed records: the base in use, or the values of one that is being formed. */
  readonly #bases = new Map<number, Base>();
  readonly #forming = new Map<number, { readonly from: number; readonly values: Uint8Array[]; bytes: number }>();

  pack(partition: number, offset: number, { value, packsWell }: Pick<LogRecord, 'value' | 'packsWell'>): PackedValue {
    let base = this.#baseAt(partition, offset);
    if (base === undefined && (packsWell === true || this.#forming.has(partition))) {
      // The first record that the base serves is the one that completed it by being too large.
      if (!this.#form(partition, offset, value)) base = this.#bases.get(partition);
    }
    if (packsWell !== true) return { value, packing: 0, base: null, baseRecords: 0 };
    const packed = pack(value, base?.bytes);
    const used = packed.packing === 0 ? undefined : base;
    return { value: packed.bytes, packing: packed.packing, base: used?.from ?? null, baseRecords: used?.records ?? 0 };
  }

  /** Forgets the partition's records before this offset: they are deleted, so nothing more may be packed with them. */
  forgetBefore(partition: number, offset: number): void {
    if ((this.#bases.get(partition)?.from ?? offset) < offset) this.#bases.delete(partition);
    if ((this.#forming.get(partition)?.from ?? offset) < offset) this.#forming.delete(partition);
  }

  /** Forgets what was packed last: it is not stored, and its offsets will be given to other records. */
  forgetAll(): void {
    this.#bases.clear();
    this.#forming.clear();
  }

  #baseAt(partition: number, offset: number): Base | undefined {
    const base = this.#bases.get(partition);
    if (base === undefined || offset < base.from + BASE_REACH_RECORDS) return base;
    this.#bases.delete(partition);
    return undefined;
  }

  /** Adds the record to the base that is being formed. False: it didn't fit, and the base is complete without it. */
  #form(partition: number, offset: number, value: Uint8Array): boolean {
    const forming = this.#forming.get(partition) ?? { from: offset, values: [], bytes: 0 };
    const isFitting = forming.bytes + value.byteLength <= PACKING_BASE_MAX_BYTES;
    // Larger than any base: the next record begins one.
    if (!isFitting && forming.values.length === 0) return true;
    if (isFitting) {
      forming.values.push(value);
      forming.bytes += value.byteLength;
      keepLast(this.#forming, partition, forming, BASES_MAX);
      if (forming.values.length < BASE_MAX_RECORDS) return true;
    }
    this.#forming.delete(partition);
    const { from, values } = forming;
    keepLast(this.#bases, partition, { from, records: values.length, bytes: Buffer.concat(values) }, BASES_MAX);
    return isFitting;
  }
}

/** Unpacks records for reads. */
export class RecordUnpacker {
  readonly #readBase: ReadBase;
  /** The last base used, of each partition. */
  readonly #bases = new Map<number, Base>();

  constructor(readBase: ReadBase) {
    this.#readBase = readBase;
  }

  /** Throws `CorruptError` when it can't be unpacked. */
  unpack(partition: number, { value, packing, base, baseRecords }: PackedValue): Uint8Array {
    const bytes = base === null ? undefined : this.#base(partition, base, baseRecords);
    return unpack({ bytes: value, packing }, bytes);
  }

  #base(partition: number, from: number, records: number): Uint8Array {
    const known = this.#bases.get(partition);
    if (known?.from === from && known.records === records) return known.bytes;
    const bytes = Buffer.concat(this.#readBase(partition, from, records));
    keepLast(this.#bases, partition, { from, records, bytes }, BASES_MAX);
    return bytes;
  }
}
