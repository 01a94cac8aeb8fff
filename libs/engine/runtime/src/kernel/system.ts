/** Owns the system's own time, randomness and digests: the default adapters of those ports. */

import { hash, randomFillSync } from 'node:crypto';
import { canonicalJson } from '@tidemark/codec';
import type { Json, Sha256 } from '@tidemark/core';
import type { Clock, Digest, Prng } from '@tidemark/ports';

/** Longest delay that one timer of Node can hold, in milliseconds; a longer sleep uses several timers. */
const TIMER_MAX_MS = 2_147_483_647;

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    let leftMs = ms;
    let timer: NodeJS.Timeout;
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const next = (): void => {
      if (leftMs <= 0) {
        end();
        return;
      }
      const part = Math.min(leftMs, TIMER_MAX_MS);
      leftMs -= part;
      timer = setTimeout(next, part);
    };
    signal?.addEventListener('abort', end, { once: true });
    next();
  });
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep,
};

/** Randomness is drawn in blocks of this many bytes, because each draw from the system takes microseconds. */
const BLOCK_BYTES = 4_096;

function bufferedPrng(): Prng {
  const block = new Uint8Array(BLOCK_BYTES);
  let at = BLOCK_BYTES;
  return {
    bytes(count) {
      if (count > BLOCK_BYTES) return randomFillSync(new Uint8Array(count));
      if (at + count > BLOCK_BYTES) {
        randomFillSync(block);
        at = 0;
      }
      at += count;
      return block.slice(at - count, at);
    },
  };
}

export const systemPrng: Prng = bufferedPrng();

export const sha256Digest: Digest = {
  sha256: (data) => hash('sha256', data, 'hex'),
};

export const digestOf = (digest: Digest, value: Json): Sha256 => digest.sha256(canonicalJson(value));

/** A number from 0 to 1 for the name, the same in every process. A share includes the names whose number is below it. */
export const placeOf = (name: string, digest: Digest): number =>
  Number.parseInt(digest.sha256(name).slice(0, 8), 16) / 2 ** 32;
