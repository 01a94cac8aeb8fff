/** Owns the effect that writes a file once. Invariant: another file at the path is never touched. */

import { hash } from 'node:crypto';
import path from 'node:path';
import { codeOf } from '@tidemark/blob-fs/durable-files';
import { messageOf } from '@tidemark/core';
import {
  defineEffect,
  done,
  type Effect,
  type EffectSpec,
  NotDoneError,
  notDone,
  type Parsed,
  type Schema,
  UnavailableError,
  unknown,
} from '@tidemark/sdk';
import { z } from 'zod';
import { compare, writeOnce } from './file-writing.ts';
import { finalWhenRefused, RefusedError } from './refused-error.ts';

/** A file written by one effect, at most: it is held in memory whole. */
const FILE_MAX_BYTES = 64 * 1_024 * 1_024;

type Awaitable<T> = T | Promise<T>;

const receipt = z.object({
  /** Absolute path. */
  path: z.string(),
  sha256: z.string(),
  bytes: z.number().int().min(0),
});

/** The record of a written file. */
export type FileReceipt = z.infer<typeof receipt>;

/** A user's file effect. */
export interface FileEffectSpec<Request extends Schema>
  extends Pick<EffectSpec<Request, typeof receipt>, 'operation' | 'request' | 'retry' | 'timeoutMs' | 'compensate'> {
  /** Path; relative to the working folder of the process. Missing folders are created. */
  readonly path: (request: Parsed<NoInfer<Request>>) => string;
  /** Content, at most 64 MiB. It must be the same for the same request, or a second attempt finds another content. */
  readonly content: (request: Parsed<NoInfer<Request>>) => Awaitable<string | Uint8Array>;
}

/** Defines it; its kind is `idempotent`, since writing the same again changes nothing. Throws what `defineEffect` throws. */
export function fileEffect<Request extends Schema>(spec: FileEffectSpec<Request>): Effect<Request, typeof receipt> {
  const { operation } = spec;
  const plan = async (
    request: Parsed<Request>,
  ): Promise<{ readonly bytes: Uint8Array; readonly receipt: FileReceipt }> => {
    const content = await spec.content(request);
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const file = path.resolve(spec.path(request));
    if (bytes.length <= FILE_MAX_BYTES) {
      return { bytes, receipt: { path: file, sha256: hash('sha256', bytes), bytes: bytes.length } };
    }
    throw new RefusedError(`${operation}: ${file}: ${bytes.length} bytes are over the limit of ${FILE_MAX_BYTES}.`);
  };
  const effect = defineEffect<Request, typeof receipt>({
    operation,
    kind: 'idempotent',
    request: spec.request,
    response: receipt,
    retry: spec.retry,
    timeoutMs: spec.timeoutMs,
    compensate: spec.compensate,
    // Compared by digest. Of a different file nobody can say whether it ever was this one.
    probe: async (_key, { request }) => {
      const planned = await plan(request);
      const found = await compare(planned.receipt.path, planned.bytes);
      if (found === 'other') return unknown();
      return found === 'same' ? done(planned.receipt) : notDone();
    },
    call: async (request, { key, signal }) => {
      const planned = await plan(request);
      if (signal.aborted) throw new NotDoneError(`${operation}: aborted before it was written.`);
      await write(operation, planned.receipt.path, planned.bytes, key);
      return planned.receipt;
    },
  });
  return finalWhenRefused(effect);
}

async function write(operation: string, file: string, bytes: Uint8Array, key: string): Promise<void> {
  let outcome: 'written' | 'same' | 'other';
  try {
    outcome = await writeOnce(file, bytes, key);
  } catch (error) {
    const reason = REASONS[codeOf(error)] ?? messageOf(error);
    // The probe decides, or the call is repeated.
    throw new UnavailableError('file-unavailable', `${operation}: ${file}: ${reason}`, { path: file, cause: error });
  }
  if (outcome === 'other') throw otherContent(operation, file);
}

const otherContent = (operation: string, file: string): RefusedError =>
  new RefusedError(
    `${operation}: ${file} exists with other content, and was not changed. Move it elsewhere, or choose another path.`,
    { operation, path: file },
  );

/** Errors that a person can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission, or a file system without hard links',
  ENOTSUP: 'a file system without hard links',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'a part of the path is not a folder, or it ends with a broken link',
};
