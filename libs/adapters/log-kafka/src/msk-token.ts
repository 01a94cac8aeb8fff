/**
 * Owns the token by which a process proves itself to Amazon MSK: a signed address, valid for some minutes, in place of an OAuth token. AWS's
 * own packages find the credentials (environment, IRSA, pod identity, instance) and sign. Must not store or show a credential.
 */

import type { SignatureV4Init } from '@smithy/signature-v4';

/** Validity that MSK allows at most, in seconds. */
const VALID_S = 900;
const USER_AGENT = 'tidemark';

export interface MskTokenOptions {
  readonly region: string;
  /** Absent: AWS's default chain. */
  readonly credentials?: SignatureV4Init['credentials'] | undefined;
  readonly now?: () => Date;
}

/** A new token at each call. Throws what the chain of credentials throws. */
export async function mskToken({ region, credentials, now = () => new Date() }: MskTokenOptions): Promise<string> {
  const [{ SignatureV4 }, { Sha256Node }, chain] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@smithy/core/checksum'),
    credentials ?? import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider()),
  ]);
  const signer = new SignatureV4({ service: 'kafka-cluster', region, credentials: chain, sha256: Sha256Node });
  const hostname = `kafka.${region}.amazonaws.com`;
  const signed = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      headers: { host: hostname },
      query: { Action: 'kafka-cluster:Connect' },
    },
    { signingDate: now(), expiresIn: VALID_S },
  );
  const query = new URLSearchParams(signed.query as Record<string, string>);
  // Brokers log it; it is no part of what is signed.
  query.set('User-Agent', USER_AGENT);
  return Buffer.from(`https://${hostname}/?${query}`).toString('base64url');
}
