/** Owns `tidemark admin keys` and `forget`: listing the keys that wrap data keys, wrapping again under a new one, and destroying data keys permanently. */

import { ConfigError, DEFAULT_TENANT, tenantId, workflowId } from '@tidemark/core';
import { type Host, type Keys, keysMissing, rotateFileKeys } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { type AdminOptions, adminTarget, atFolder, atHost } from '../place/admin-place.ts';
import type { Session } from '../session.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { count, counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ForgetOptions extends AdminOptions {
  readonly tenant?: string | undefined;
  readonly workflow?: string | undefined;
  readonly user?: string | undefined;
  readonly by: string;
  readonly why: string;
}

export async function keysShow(session: Session, options: AdminOptions): Promise<number> {
  const uses = await atHost(session, options, usesIn);
  const { terminal } = session;
  terminal.answer({
    keys: uses.map((use) => ({
      provider: use.provider,
      wrapped_by: use.wrappedBy,
      is_current: use.isCurrent,
      data_keys: use.count,
    })),
  });
  terminal.lines(tableOr('No data keys yet.', USES, uses, terminal.width));
  return EXIT.ok;
}

const USES: Columns<KeyUse> = [
  ['PROVIDER', ({ provider }) => provider],
  ['WRAPPED BY', ({ wrappedBy }) => wrappedBy, 16],
  ['DATA KEYS', (use) => count(use.count), 'right'],
  ['', ({ isCurrent }) => (isCurrent ? 'current' : 'to be rewrapped: tidemark admin keys rewrap')],
];

/** Encrypts a folder from now on. A cluster needs no such command: it is encrypted unless its settings say otherwise. */
export async function keysBegin(session: Session, options: AdminOptions): Promise<number> {
  const target = adminTarget(options, session);
  if (target.kind === 'cluster') {
    throw new ConfigError(
      'keys-of-cluster',
      'TIDEMARK_KAFKA_BROKERS names a cluster, which is encrypted unless TIDEMARK_ENCRYPTION is off. Name a folder with --state.',
    );
  }
  const { terminal } = session;
  // Opening the folder with these options makes the keys, and begins the encryption.
  await atFolder(target, async ({ keys }) => keysOf({ keys }), { begins: true, makes: true });
  terminal.answer({ state: target.folder, encrypted: true });
  terminal.line(
    `What is written to ${printable(target.shown)} is encrypted from now on. Every command on it needs TIDEMARK_KEYS_URL; keep a copy of a key file in another place.`,
  );
  return EXIT.ok;
}

export async function keysRotate(session: Session, options: AdminOptions): Promise<number> {
  const rotated = await atHost(session, options, rotateIn, { action: 'rotateKeys' });
  const { terminal } = session;
  terminal.answer({ rotated: rotated.map(({ file, wrappedBy }) => ({ file, wrapped_by: wrappedBy })) });
  terminal.lines([
    ...rotated.map(({ file, wrappedBy }) => `${printable(file)}: ${wrappedBy} wraps from now on.`),
    'Copy the file to where its copies are, then: tidemark admin keys rewrap',
  ]);
  return EXIT.ok;
}

export async function keysRewrap(session: Session, options: AdminOptions): Promise<number> {
  const answer = await atHost(session, options, rewrapIn, { action: 'rewrapKeys' });
  const { terminal } = session;
  terminal.answer({
    seen: answer.seenCount,
    rewrapped: answer.rewrappedCount,
    wrong: answer.wrongCount,
    wrong_ids: answer.wrongIds,
  });
  terminal.line(`Rewrapped ${counted(answer.rewrappedCount, 'data key')} of ${count(answer.seenCount)}.`);
  if (answer.wrongCount > 0) {
    terminal.warn(`${counted(answer.wrongCount, 'data key')} could not be unwrapped: ${answer.wrongIds.join(', ')}`);
  }
  return answer.wrongCount > 0 ? EXIT.corrupt : EXIT.ok;
}

export async function forgetForGood(session: Session, options: ForgetOptions): Promise<number> {
  const { user, by, why } = options;
  const workflow = options.workflow === undefined ? undefined : workflowId(options.workflow);
  const tenant = tenantId(options.tenant ?? DEFAULT_TENANT);
  const certificate = await atHost(session, options, (host) => host.forget({ tenant, workflow, user, by, why }), {
    action: 'forget',
    target: workflow ?? user,
    tenant,
  });
  const { terminal } = session;
  const { of, keys, memoryCount, at, leftIn: unscrubbed = [] } = certificate;
  terminal.answer({ of, state: certificate.state, keys, memories: memoryCount, by, why, at, left_in: unscrubbed });
  const memories = memoryCount === 0 ? '' : ` and ${counted(memoryCount, 'memory', 'memories')}`;
  terminal.line(
    `Forgotten: ${printable(of)}. ${counted(keys.length, 'data key')}${memories} destroyed at ${at}; the certificate is in the log.`,
  );
  for (const { table, why: reason } of unscrubbed) {
    terminal.warn(
      `The files of the table ${table} may still hold bytes of it: ${UNSCRUBBED[reason]}. Run tidemark admin rebuild, which rewrites all rows, or vacuum full ${table}.`,
    );
  }
  return EXIT.ok;
}

const UNSCRUBBED = {
  'too-large': 'it is too large to keep everybody waiting until it is rewritten',
  'in-use': 'others use it all the time',
  'not-allowed': 'the role of the address is not its owner',
} as const;

/** How many data keys each wrapping key has wrapped. */
interface KeyUse {
  readonly provider: string;
  readonly wrappedBy: string;
  readonly isCurrent: boolean;
  readonly count: number;
}

/** Throws `ConfigError` (`keys-missing`), as all of these do. */
async function usesIn(host: Host): Promise<readonly KeyUse[]> {
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
}

/** Adds a key to each key file. Throws `ConfigError` (`keys-rotate-elsewhere`) where there is none, and as `rotateFileKeys` does. */
async function rotateIn(host: Host) {
  const all = keysOf(host);
  // Both kinds may have one file.
  const files = new Set(all.flatMap(({ file }) => file ?? []));
  if (files.size === 0) throw rotatesElsewhere(all.map(({ provider }) => provider.name));
  const rotated: { readonly file: string; readonly wrappedBy: string }[] = [];
  for (const file of files) rotated.push({ file, wrappedBy: await rotateFileKeys({ file }) });
  return rotated;
}

async function rewrapIn(host: Host) {
  const answer = { seenCount: 0, rewrappedCount: 0, wrongCount: 0, wrongIds: [] as string[] };
  for (const { data } of keysOf(host)) {
    const done = await data.rewrapAll({});
    answer.seenCount += done.seenCount;
    answer.rewrappedCount += done.rewrappedCount;
    answer.wrongCount += done.wrongCount;
    answer.wrongIds.push(...done.wrongIds);
  }
  return answer;
}

/** The keys of histories and of secret fields, as far as settings name them. */
function keysOf({
  keys,
  secrets,
}: {
  readonly keys: Host['keys'];
  readonly secrets?: Host['secrets'];
}): readonly [Keys, ...Keys[]] {
  if (keys !== undefined) return secrets === undefined ? [keys] : [keys, secrets];
  if (secrets !== undefined) return [secrets];
  throw keysMissing();
}

const rotatesElsewhere = (providers: readonly string[]): ConfigError =>
  new ConfigError(
    'keys-rotate-elsewhere',
    `Only key files are rotated here, and none is named: ${providers.join(' and ')} rotates its keys by itself, or where they are kept. tidemark admin keys rewrap rewraps what older ones wrapped.`,
    { providers },
  );
