/** Owns the settings of TLS and SASL for both clients. Must not show or store a secret anywhere else. */

import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { ConnectionOptions as PlatformaticOptions } from '@platformatic/kafka';
import type { KafkaConfig } from 'kafkajs';
import { parseAddress } from './address.ts';

/** Password and token are asked for at each connection, so that one which was replaced is taken without a restart. */
export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      readonly password: () => Promise<string>;
    }
  | { readonly mechanism: 'oauthbearer'; readonly token: () => Promise<string> };

export interface KafkaSecurity {
  /** `true`: TLS with the system's authorities. */
  readonly tls?: true | ConnectionOptions;
  readonly sasl?: KafkaSasl;
}

const platformaticMechanism = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const;

export function platformaticSecurity({
  tls,
  sasl,
  brokers,
}: KafkaSecurity & { readonly brokers: readonly string[] }): Pick<
  PlatformaticOptions,
  'tls' | 'sasl' | 'tlsServerName'
> {
  return {
    // The certificate is checked against the broker's host in any case; SNI takes no address (RFC 6066).
    ...(tls === undefined ? {} : { tls: tls === true ? {} : tls, tlsServerName: !brokers.every(isAddress) }),
    ...(sasl === undefined ? {} : { sasl: platformaticSasl(sasl) }),
  };
}

const isAddress = (broker: string): boolean => isIP(parseAddress(broker).host) !== 0;

function platformaticSasl(sasl: KafkaSasl): NonNullable<PlatformaticOptions['sasl']> {
  if (sasl.mechanism === 'oauthbearer') return { mechanism: 'OAUTHBEARER', token: sasl.token };
  return { mechanism: platformaticMechanism[sasl.mechanism], username: sasl.username, password: sasl.password };
}

/** For one connection: the password is asked for here. */
export async function kafkajsSecurity({ tls, sasl }: KafkaSecurity): Promise<Pick<KafkaConfig, 'ssl' | 'sasl'>> {
  return {
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(sasl === undefined ? {} : { sasl: await kafkajsSasl(sasl) }),
  };
}

async function kafkajsSasl(sasl: KafkaSasl): Promise<NonNullable<KafkaConfig['sasl']>> {
  if (sasl.mechanism === 'oauthbearer') {
    const { token } = sasl;
    return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: await token() }) };
  }
  const { mechanism, username } = sasl;
  return { mechanism, username, password: await sasl.password() } as NonNullable<KafkaConfig['sasl']>;
}
