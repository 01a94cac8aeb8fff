/**
 * Owns the settings by which processes prove themselves to Kafka (SASL) and their checks. A password is in a file, which is read at each
 * connection; it must not be printed.
 */

import type { KafkaSasl } from '@tidemark/cluster';
import { clusterPackage } from '@tidemark/traces';
import { mskToken } from './aws-token.ts';
import { passwordIn, wrong } from './password.ts';
import type { TlsConfig } from './tls.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What each mechanism needs, and what it may have besides. */
const MECHANISMS = {
  plain: { needs: ['USERNAME', 'PASSWORD_FILE'], may: [] },
  'scram-sha-256': { needs: ['USERNAME', 'PASSWORD_FILE'], may: [] },
  'scram-sha-512': { needs: ['USERNAME', 'PASSWORD_FILE'], may: [] },
  oauthbearer: { needs: ['USERNAME', 'PASSWORD_FILE', 'TOKEN_URL'], may: ['TOKEN_SCOPE'] },
  'aws-msk-iam': { needs: ['AWS_REGION'], may: [] },
} as const satisfies Record<string, { readonly needs: readonly string[]; readonly may: readonly string[] }>;
type Mechanism = keyof typeof MECHANISMS;

const PARTS = ['USERNAME', 'PASSWORD_FILE', 'TOKEN_URL', 'TOKEN_SCOPE', 'AWS_REGION'] as const;
/** Sends nothing from which somebody who listens could learn a password. */
const SAFE_IN_CLEAR: ReadonlySet<Mechanism> = new Set(['scram-sha-256', 'scram-sha-512']);

/**
 * `TIDEMARK_KAFKA_SASL` names the mechanism, `TIDEMARK_KAFKA_USERNAME` and `…_PASSWORD_FILE` the user; of `oauthbearer` they are the client's id
 * and secret for `…_TOKEN_URL`, and `…_TOKEN_SCOPE` is asked for; `aws-msk-iam` signs for `…_AWS_REGION` with AWS's default credentials.
 * Undefined: none. Throws `ConfigError` (`setting-invalid`, `password-file-unreadable`).
 */
export function saslFromEnv(env: Env, tls: Pick<TlsConfig, 'kafka'>): KafkaSasl | undefined {
  const of = (part: (typeof PARTS)[number]): string => env[`TIDEMARK_KAFKA_${part}`] ?? '';
  const mechanism = env.TIDEMARK_KAFKA_SASL ?? '';
  const given = PARTS.filter((part) => of(part) !== '').map((part) => `TIDEMARK_KAFKA_${part}`);
  if (mechanism === '') {
    if (given.length === 0) return undefined;
    throw wrong(`${given[0]} is set, and TIDEMARK_KAFKA_SASL isn't; set it, or remove the former`);
  }
  if (!isMechanism(mechanism)) {
    throw wrong(`TIDEMARK_KAFKA_SASL: expected ${Object.keys(MECHANISMS).join(', ')}`);
  }
  const { needs, may } = MECHANISMS[mechanism];
  const names = [...needs, ...may].map((part) => `TIDEMARK_KAFKA_${part}`);
  const lacking = needs.filter((part) => of(part) === '').map((part) => `TIDEMARK_KAFKA_${part}`);
  if (lacking.length > 0) throw wrong(`TIDEMARK_KAFKA_SASL=${mechanism} needs ${lacking.join(' and ')}`);
  const extra = given.filter((name) => !names.includes(name));
  if (extra.length > 0) throw wrong(`${extra[0]} means nothing with TIDEMARK_KAFKA_SASL=${mechanism}; remove it`);
  if (tls.kafka === undefined && !SAFE_IN_CLEAR.has(mechanism) && env.TIDEMARK_KAFKA_TLS !== 'off') {
    throw wrong(
      `TIDEMARK_KAFKA_SASL=${mechanism} sends a secret in clear without TLS: set TIDEMARK_KAFKA_TLS=on, or TIDEMARK_KAFKA_TLS=off where the network is safe`,
    );
  }
  if (mechanism === 'aws-msk-iam') {
    const region = of('AWS_REGION');
    return { mechanism: 'oauthbearer', token: () => mskToken({ region }) };
  }
  const username = of('USERNAME');
  const password = passwordIn('TIDEMARK_KAFKA_PASSWORD_FILE', of('PASSWORD_FILE'));
  if (mechanism !== 'oauthbearer') return { mechanism, username, password };
  const tokenUrl = of('TOKEN_URL');
  if (!/^https?:\/\//.test(tokenUrl) || !URL.canParse(tokenUrl) || new URL(tokenUrl).username !== '') {
    throw wrong('TIDEMARK_KAFKA_TOKEN_URL: expected https://… without a user name');
  }
  const asked = { tokenUrl, clientId: username, clientSecret: password, scope: of('TOKEN_SCOPE') };
  let tokens: Promise<() => Promise<string>> | undefined;
  const load = async () => (await (await clusterPackage('Kafka')).kafkaLog()).oauthTokens(asked);
  const token = async (): Promise<string> => {
    tokens ??= load();
    return (await tokens)();
  };
  return { mechanism, token };
}

const isMechanism = (text: string): text is Mechanism => Object.hasOwn(MECHANISMS, text);
