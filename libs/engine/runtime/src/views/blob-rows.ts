/**
 * Owns the transform of rows with large texts in blobs: the row has a reference to the blob (see blob-store.ts of the ports), and readers get the
 * text. It does not decide which columns (see row-texts.ts), and removes no blobs.
 *
 * B2 A row references a blob only after the blob is stored. A text that looks like a reference goes into a blob itself, however short it
 *    is, so that nobody can forge a reference.
 */

import { CorruptError } from '@tidemark/core';
import { BLOB_REFERENCE_HEAD, type BlobReference, blobReferenceOf, blobReferenceText } from '@tidemark/ports';
import type { Blobs } from './blobs.ts';
import { EVENT_MAX_BYTES } from './limits.ts';
import type { TransformText } from './row-texts.ts';
import type { ContentTransform } from './transformed-store.ts';

export interface BlobRowsOptions {
  readonly blobs: Blobs;
  /** Largest text that the row itself keeps, in bytes. */
  readonly inlineMaxBytes?: number | undefined;
}

/** Most bytes of UTF-8 for one unit of a string. */
const UNIT_MAX_BYTES = 3;

export class BlobTexts implements ContentTransform {
  readonly #blobs: Blobs;
  readonly #maxBytes: number;

  constructor({ blobs, inlineMaxBytes = EVENT_MAX_BYTES }: BlobRowsOptions) {
    this.#blobs = blobs;
    this.#maxBytes = inlineMaxBytes;
  }

  #isStoredAsBlob(text: string): boolean {
    if (text.length * UNIT_MAX_BYTES > this.#maxBytes && Buffer.byteLength(text) > this.#maxBytes) return true;
    return text.startsWith(BLOB_REFERENCE_HEAD);
  }

  async inward<T>(work: (turn: TransformText) => T): Promise<T> {
    const names = new Map<string, string>();
    const done = work((text) => {
      if (this.#isStoredAsBlob(text)) names.set(text, '');
      return text;
    });
    if (names.size === 0) return done;
    const putting = [...names.keys()].map(async (text) => {
      names.set(text, blobReferenceText(await this.#blobs.put(Buffer.from(text))));
    });
    await Promise.all(putting);
    return work((text) => names.get(text) ?? text);
  }

  async outward<T>(work: (turn: TransformText) => T): Promise<T> {
    const named = new Map<string, { readonly blob: BlobReference; readonly place: string }>();
    const done = work((text, place) => {
      const blob = blobReferenceOf(text);
      if (blob !== undefined) named.set(text, { blob, place });
      return text;
    });
    if (named.size === 0) return done;
    const texts = new Map<string, string>();
    const getting = [...named].map(async ([name, { blob, place }]) => {
      texts.set(name, await this.#get(blob, place));
    });
    await Promise.all(getting);
    return work((text) => texts.get(text) ?? text);
  }

  async #get(blob: BlobReference, place: string): Promise<string> {
    try {
      return Buffer.from(await this.#blobs.get(blob)).toString();
    } catch (cause) {
      if (!(cause instanceof CorruptError)) throw cause;
      throw new CorruptError(
        cause.code,
        `What belongs to the row ${place}: ${cause.message}. Restore the blob from a copy of the folder blobs of the archive; do not drop the rows, as what they are made from names the same blob.`,
        { place, digest: blob.digest, cause },
      );
    }
  }
}
