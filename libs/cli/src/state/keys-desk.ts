/** Owns what commands do with data keys, as flat calls with plain data, so that they cross a socket unchanged. */

import { ConfigError, isoTime, type TenantId, type WorkflowId } from '@tidemark/core';
import { type Host, type Keys, rotateFileKeys } from '@tidemark/host';
import { type ForgetCertificate, forget } from '@tidemark/runtime';

/** How many data keys each wrapping key has wrapped. */
export interface KeyUse {
  readonly provider: string;
  readonly wrappedBy: string;
  readonly isCurrent: boolean;
  readonly count: number;
}

export interface RewrapAnswer {
  readonly seenCount: number;
  readonly rewrappedCount: number;
  readonly wrongCount: number;
  readonly wrongIds: readonly string[];
}

/** A key file that has a new key, which wraps from now on. */
export interface Rotated {
  readonly file: string;
  readonly wrappedBy: string;
}

export interface ForgetCall {
  readonly tenant: TenantId;
  readonly workflow?: WorkflowId | undefined;
  readonly user?: string | undefined;
  readonly by: string;
  readonly why: string;
}

export interface CommandKeys {
  /** Throws `ConfigError` (`keys-missing`), as all of these do. */
  uses(): Promise<readonly KeyUse[]>;
  /** Adds a key to each key file. Throws `ConfigError` (`keys-rotate-elsewhere`) where there is none, and as `rotateFileKeys` does. */
  rotate(): Promise<readonly Rotated[]>;
  rewrap(): Promise<RewrapAnswer>;
  forget(call: ForgetCall): Promise<ForgetCertificate>;
}

/** Names of the calls, as a socket passes them on. */
export const KEY_CALLS = ['uses', 'rotate', 'rewrap', 'forget'] as const satisfies readonly (keyof CommandKeys)[];

export function hostKeys(host: Host): CommandKeys {
  const { store, clock } = host.ports;
  return {
    async uses() {
      const all = keysOf(host);
      const current = new Map<string, string>();
      for (const { provider } of all) current.set(provider.name, await provider.current());
      const counts = new Map<string, KeyUse>();
      for await (const key of all[0].store.list({})) {
        const name = JSON.stringify([key.provider, key.wrappedBy]);
        const isCurrent = current.get(key.provider) === key.wrappedBy;
        const count = (counts.get(name)?.count ?? 0) + 1;
        counts.set(name, { provider: key.provider, wrappedBy: key.wrappedBy, isCurrent, count });
      }
      return [...counts.values()];
    },
    async rotate() {
      const all = keysOf(host);
      // Both kinds may have one file.
      const files = new Set(all.flatMap(({ file }) => file ?? []));
      if (files.size === 0) throw rotatesElsewhere(all.map(({ provider }) => provider.name));
      const rotated: Rotated[] = [];
      for (const file of files) rotated.push({ file, wrappedBy: await rotateFileKeys({ file }) });
      return rotated;
    },
    async rewrap() {
      const answer = { seenCount: 0, rewrappedCount: 0, wrongCount: 0, wrongIds: [] as string[] };
      for (const { data } of keysOf(host)) {
        const done = await data.rewrapAll({});
        answer.seenCount += done.seenCount;
        answer.rewrappedCount += done.rewrappedCount;
        answer.wrongCount += done.wrongCount;
        answer.wrongIds.push(...done.wrongIds);
      }
      return answer;
    },
    forget(call) {
      // Destroying goes by the store, which has the keys of both kinds.
      const [{ data, store: keyStore }] = keysOf(host);
      const now = (): string => isoTime(clock.nowMs());
      return forget({ store, keys: data, keyStore, memory: host.client.memory, now }, call);
    },
  };
}

/** Those of histories and of secret fields, as far as they are named. */
function keysOf({ keys, secrets }: Host): readonly [Keys, ...Keys[]] {
  if (keys !== undefined) return secrets === undefined ? [keys] : [keys, secrets];
  if (secrets !== undefined) return [secrets];
  throw new ConfigError('keys-missing', 'Nothing is encrypted here: TIDEMARK_KEYS_URL is not set.');
}

const rotatesElsewhere = (providers: readonly string[]): ConfigError =>
  new ConfigError(
    'keys-rotate-elsewhere',
    `Only key files are rotated here, and none is named: ${providers.join(' and ')} rotates its keys by itself, or where they are kept. What older ones wrapped is wrapped anew with tidemark keys rewrap.`,
    { providers },
  );
