/**
 * Owns `tidemark login`, `logout`, `whoami` and `contexts`: a user's servers and the credential for each. A credential is never an
 * argument, and never shown.
 */

import { createReadStream } from 'node:fs';
import path from 'node:path';
import { connect, TidemarkApiError } from '@tidemark/client';
import { ConfigError, InvalidError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { UsageError } from '../failures.ts';
import { failureOf } from '../place/api-failure.ts';
import { changeContexts, checkContextName, contextNamed, contextsPath, readContexts } from '../place/contexts.ts';
import type { ContextsFile, Credential } from '../place/contexts-file.ts';
import { deviceLogin } from '../place/oidc.ts';
import { atPlace, checkedUrl, type PlaceOptions, refuseInClear } from '../place/place.ts';
import type { LoginOptions } from '../program/login-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { type Columns, tableOr } from '../text/table.ts';
import { printable } from '../text/width.ts';

/** Largest credential, in bytes. */
const CREDENTIAL_MAX_BYTES = 16_384;

export async function login(session: Session, url: string | undefined, options: LoginOptions): Promise<number> {
  const { terminal, env } = session;
  const contexts = await readContexts(env);
  const asked = options.context ?? (url === undefined ? contexts.current : null);
  if (url === undefined && asked === null) throw new UsageError('name the address of the API: tidemark login URL');
  const at = url === undefined ? contextNamed(contexts, asked!).url : checkedUrl(url, 'url');
  const name = checkContextName(asked ?? nameOf(at));
  const before = url === undefined ? contextNamed(contexts, name).credential : undefined;
  const isNone = options.key === undefined && options.oidc === undefined && (before ?? NONE).kind === 'none';
  if (!isNone) refuseInClear(at, 'url', 'the credential');
  const given = await credentialFor(session, before, options);
  const me = await whoIs(at, given);
  // A server without access control looks at no credential, so this one may be good for nothing, or for another server.
  const isUnread = me.kind === 'local' && given.kind !== 'none';
  const credential: Credential = isUnread ? { kind: 'none' } : given;
  await changeContexts(env, (file) => {
    const known = Object.hasOwn(file.contexts, name) ? file.contexts[name] : undefined;
    // Its credential may be nowhere else: a key is shown once.
    if (options.context === undefined && known !== undefined && known.url !== at) throw isTaken(name, known.url);
    return { ...file, current: name, contexts: { ...file.contexts, [name]: { url: at, credential } } };
  });
  if (isUnread)
    terminal.warn(`${printable(at)} asks nobody for a credential: yours was not checked, and is not stored.`);
  terminal.answer({ context: name, url: at, ...me });
  terminal.line(`You are ${meWords(me)} at ${printable(at)}. Commands ask it from now on (context ${name}).`);
  return EXIT.ok;
}

const NONE: Credential = { kind: 'none' };

/** A name may hold no brackets and colons. */
const nameOf = (url: string): string => new URL(url).hostname.replaceAll(/[[\]]/g, '').replaceAll(':', '-');

const isTaken = (name: string, url: string): ConfigError =>
  new ConfigError(
    'context-exists',
    `Context ${name} is for ${url}, and keeps its credential. Give this one another name, or the same one if you mean to replace it: --context NAME.`,
  );

async function credentialFor(
  session: Session,
  before: Credential | undefined,
  { key, oidc, clientId, audience, scope }: LoginOptions,
): Promise<Credential> {
  if (key !== undefined && oidc !== undefined) throw new UsageError('give --key or --oidc, not both');
  if (key !== undefined) return { kind: 'key', key: await readCredential(key, session) };
  const known = before?.kind === 'oidc' ? before : undefined;
  const [issuer, client] = [oidc ?? known?.issuer, clientId ?? known?.client_id];
  if (issuer === undefined) return { kind: 'none' };
  if (client === undefined) throw new UsageError('--oidc needs --client-id, as the issuer knows this program');
  const { signal, release } = takeInterrupts(session);
  const login = { issuer: checkedUrl(issuer, '--oidc'), clientId: client, audience, scope };
  try {
    return await deviceLogin(login, (where, code) => reportCode(session, where, code), signal);
  } finally {
    release();
  }
}

/** Shown to programs too: the person behind them has to type it. */
const reportCode = ({ terminal }: Session, where: string, code: string): void => {
  terminal.record({ type: 'code', address: where, code });
  terminal.note(`Open ${printable(where)} and type the code ${printable(code)} there.`);
};

async function readCredential(given: string, { stdin, cwd }: Session): Promise<string> {
  if (given !== '-' && !given.startsWith('@')) {
    throw new UsageError('--key takes @file, or - for standard input: an argument would be seen by everybody here');
  }
  const source = given === '-' ? stdin : createReadStream(path.resolve(cwd, given.slice(1)));
  let text = '';
  try {
    for await (const chunk of source) {
      text += String(chunk);
      if (text.length > CREDENTIAL_MAX_BYTES) throw new InvalidError('key-invalid', '--key: that is not an API key.');
    }
  } catch (error) {
    if (error instanceof InvalidError) throw error;
    throw new InvalidError('key-invalid', `--key ${given}: it can't be read.`);
  }
  if (/^\S+$/.test(text.trim())) return text.trim();
  throw new InvalidError(
    'key-invalid',
    '--key: there is no API key in it: one word, as tidemark access create-key prints it.',
  );
}

async function whoIs(url: string, credential: Credential) {
  const token =
    credential.kind === 'key' ? credential.key : credential.kind === 'oidc' ? credential.access_token : undefined;
  try {
    return await connect({ url, token, tries: 1 }).ask('GET /v1/me', {});
  } catch (error) {
    if (error instanceof TidemarkApiError && error.code === 'answer-unreadable') {
      throw new ConfigError('url-invalid', `${url} answers, and not as the API of Tidemark does. Check the address.`);
    }
    throw failureOf(error);
  }
}

type Me = Awaited<ReturnType<typeof whoIs>>;

const meWords = ({ subject, tenant, roles }: Me): string =>
  `${printable(subject)}${tenant === null ? ', of all tenants' : `, of tenant ${printable(tenant)}`} (${roles.join(', ')})`;

export const whoami = (session: Session, options: PlaceOptions): Promise<number> =>
  atPlace(session, { ...options, how: 'read' }, async ({ client, shown }) => {
    const me = await client.ask('GET /v1/me', {});
    session.terminal.answer(me);
    session.terminal.line(`You are ${meWords(me)} at ${printable(shown)}, version ${printable(me.server.version)}.`);
    return EXIT.ok;
  });

/** The server still accepts the credential: its issuer must revoke it. */
export async function logout({ terminal, env }: Session, { context }: { readonly context?: string }): Promise<number> {
  const namedIn = ({ current }: ContextsFile): string => {
    const name = context ?? current;
    if (name !== null) return name;
    throw new ConfigError('context-unknown', 'There is no current context: name one with --context.');
  };
  const before = await changeContexts(env, (file) => {
    const name = namedIn(file);
    contextNamed(file, name);
    const { [name]: _, ...left } = file.contexts;
    return { ...file, current: file.current === name ? null : file.current, contexts: left };
  });
  const name = namedIn(before);
  const { credential } = contextNamed(before, name);
  terminal.answer({ context: name });
  const key = credential.kind === 'key' ? ' Its API key still works: tidemark access revoke-key revokes it.' : '';
  const then = before.current === name ? ' Commands ask the folder from now on.' : '';
  terminal.line(`Context ${name} is gone from ${contextsPath(env)}.${then}${key}`);
  return EXIT.ok;
}

export async function listContexts({ terminal, env }: Session): Promise<number> {
  const { current, contexts } = await readContexts(env);
  const all = Object.entries(contexts).map(([name, { url, credential }]) => ({
    ...{ context: name, url, credential: credential.kind, current: name === current },
  }));
  terminal.answer({ contexts: all });
  const none = 'No contexts: tidemark login URL makes one.';
  terminal.lines(tableOr(none, CONTEXTS, all, terminal.width));
  return EXIT.ok;
}

const CONTEXTS: Columns<Listed> = [
  ['', ({ current }) => (current ? '*' : '')],
  ['CONTEXT', ({ context }) => context],
  ['URL', ({ url }) => url, 20],
  ['CREDENTIAL', ({ credential }) => CREDENTIALS[credential]],
];

interface Listed {
  readonly context: string;
  readonly url: string;
  readonly credential: Credential['kind'];
  readonly current: boolean;
}

const CREDENTIALS = { none: 'none', key: 'API key', oidc: 'tokens of an issuer' } as const;

/** Null: none is current, and commands use the folder. */
export async function useContext({ terminal, env }: Session, name: string | undefined): Promise<number> {
  await changeContexts(env, (file) => {
    if (name !== undefined) contextNamed(file, name);
    return { ...file, current: name ?? null };
  });
  terminal.answer({ context: name ?? null });
  terminal.line(
    name === undefined ? 'Commands ask the folder from now on.' : `Commands ask context ${name} from now on.`,
  );
  return EXIT.ok;
}
