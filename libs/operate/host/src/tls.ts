/**
 * Owns how connections between services and servers are secured: the files of each, read and checked once at the start, so that a fault
 * names the file before anything is sent. Holds private keys; must not print them.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, isoTime } from '@tidemark/core';
import { z } from 'zod';

/** The servers that processes connect to, and those that they are themselves. */
export const TLS_SERVICES = ['KAFKA', 'REDIS', 'POSTGRES', 'PRESENCE', 'API'] as const;
export type TlsService = (typeof TLS_SERVICES)[number];

/** PEM texts; `cert` and `key` go together. */
export interface TlsFiles {
  /** Absent: the system's authorities. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Undefined for a service that no setting secures; its address may still ask for TLS. */
export type TlsConfig = Readonly<Record<Lowercase<TlsService>, TlsFiles | undefined>>;

type Env = Readonly<Record<string, string | undefined>>;

const FILES = ['CA', 'CERT', 'KEY'] as const;
const onOff = z.enum(['on', 'off', '']).default('');

/**
 * `TIDEMARK_TLS_CA`, `…_CERT` and `…_KEY` are for all services; `TIDEMARK_KAFKA_TLS_CA` and the like for one. `TIDEMARK_TLS=on` without
 * files trusts the system's authorities; `TIDEMARK_REDIS_TLS=off` leaves that one service out. Callers of the API need certificates only if
 * `TIDEMARK_API_TLS_CA` is set, and then of that authority: the authority for all is for servers. Throws `ConfigError`
 * (`setting-invalid`, `tls-file-unreadable`, `tls-certificate-invalid`, `tls-certificate-expired`, `tls-key-unfit`).
 */
export function tlsFromEnv(env: Env, nowMs: number = Date.now()): TlsConfig {
  const isOnForAll = switchOf(env, 'TIDEMARK_TLS') ?? (env.TIDEMARK_TLS_CA ?? '') !== '';
  const known = new Map<string, string>();
  const of = (service: TlsService): TlsFiles | undefined => {
    const own = `TIDEMARK_${service}_TLS`;
    const hasOwn = FILES.some((file) => (env[`${own}_${file}`] ?? '') !== '');
    if (!(switchOf(env, own) ?? (hasOwn || isOnForAll))) {
      if (service !== 'API' || (env.TIDEMARK_API_TLS_CA ?? '') === '') return undefined;
      throw wrong('TIDEMARK_API_TLS is off, and TIDEMARK_API_TLS_CA asks callers for certificates; remove one of them');
    }
    const setting = (file: (typeof FILES)[number]): string => {
      // A certificate and its key come from one place.
      const hasPair = (env[`${own}_CERT`] ?? '') !== '' || (env[`${own}_KEY`] ?? '') !== '';
      const isOwn = file === 'CA' ? service === 'API' || (env[`${own}_CA`] ?? '') !== '' : hasPair;
      return isOwn ? `${own}_${file}` : `TIDEMARK_TLS_${file}`;
    };
    const read = (name: string): string | undefined => {
      const path = env[name] ?? '';
      if (path === '') return undefined;
      const text = known.get(path) ?? readPem(name, path);
      known.set(path, text);
      return text;
    };
    const [ca, cert, key] = FILES.map((file) => read(setting(file)));
    checkAuthorities(setting('CA'), ca, nowMs);
    checkPair({ cert: setting('CERT'), key: setting('KEY') }, { cert, key }, nowMs);
    if (service === 'PRESENCE' && (ca === undefined || cert === undefined)) {
      if (switchOf(env, own) === undefined && !hasOwn) return undefined;
      throw wrong(`${own}: both sides present a certificate; name TIDEMARK_TLS_CA, …_CERT and …_KEY`);
    }
    if (service === 'API' && cert === undefined) {
      if (switchOf(env, own) === undefined && !hasOwn) return undefined;
      throw wrong(`${own}: the side that listens presents a certificate; name ${own}_CERT and ${own}_KEY`);
    }
    return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) };
  };
  return {
    kafka: of('KAFKA'),
    redis: of('REDIS'),
    postgres: of('POSTGRES'),
    presence: of('PRESENCE'),
    api: of('API'),
  };
}

function switchOf(env: Env, name: string): boolean | undefined {
  const parsed = onOff.safeParse(env[name]);
  if (!parsed.success) throw wrong(`${name}: expected on or off`);
  return parsed.data === '' ? undefined : parsed.data === 'on';
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as { readonly code?: string };
    throw new ConfigError('tls-file-unreadable', `${name}: ${path} can't be read (${code}).`, { setting: name, path });
  }
}

/** Checks every certificate in it. An expired one is refused only when no other is valid: authorities are renewed by overlap. */
function checkAuthorities(name: string, ca: string | undefined, nowMs: number): void {
  if (ca === undefined) return;
  const blocks = ca.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.map((block) => certificateIn(name, block));
  if (certificates.length === 0) throw invalid(name);
  const standing = certificates.find((certificate) => Date.parse(certificate.validTo) > nowMs);
  if (standing === undefined) throw expired(name, certificates[0]!);
}

function checkPair(
  names: { readonly cert: string; readonly key: string },
  { cert, key }: { readonly cert: string | undefined; readonly key: string | undefined },
  nowMs: number,
): void {
  if (cert === undefined && key === undefined) return;
  if (cert === undefined) throw wrong(`${names.cert} is not set, and ${names.key} is: they go together`);
  if (key === undefined) throw wrong(`${names.key} is not set, and ${names.cert} is: they go together`);
  const certificate = certificateIn(names.cert, cert);
  if (Date.parse(certificate.validTo) <= nowMs) throw expired(names.cert, certificate);
  let fits = false;
  try {
    fits = certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    // Reported below without the cause: an error must not contain anything of a key.
  }
  if (fits) return;
  throw new ConfigError(
    'tls-key-unfit',
    `${names.key}: it is not a private key in PEM without a passphrase, or not that of the certificate in ${names.cert}.`,
    { setting: names.key },
  );
}

function certificateIn(name: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw invalid(name);
  }
}

const invalid = (name: string): ConfigError =>
  new ConfigError('tls-certificate-invalid', `${name}: the file holds no certificate in PEM.`, { setting: name });

const expired = (name: string, { subject, validTo }: X509Certificate): ConfigError =>
  new ConfigError(
    'tls-certificate-expired',
    `${name}: the certificate (${subject.replaceAll('\n', ', ')}) expired at ${isoTime(Date.parse(validTo))}. Put a new one there and start again.`,
    { setting: name },
  );

const wrong = (problem: string): ConfigError =>
  new ConfigError('setting-invalid', `Wrong settings in the environment: ${problem}.`);
