/**
 * Owns the signed addresses that Amazon's servers take in place of a password, each valid for some minutes: MSK's in an OAuth token, RDS's as
 * the password itself. AWS's own packages find the credentials (environment, IRSA, pod identity, instance) and sign. Must not store or show
 * a credential.
 */

import type { AwsCredentials as Credentials } from '@tidemark/cluster';
import { clusterPackage } from '@tidemark/traces';

/** Validity that both allow at most, in seconds. */
const VALID_S = 900;
const USER_AGENT = 'tidemark';

export interface AwsTokenOptions {
  readonly region: string;
  /** Absent: AWS's default chain. */
  readonly credentials?: Credentials | undefined;
  readonly now?: () => Date;
}

/** A new token at each call. Throws what the chain of credentials throws. */
export async function mskToken(options: AwsTokenOptions): Promise<string> {
  const host = `kafka.${options.region}.amazonaws.com`;
  const query = await signed('kafka-cluster', host, { Action: 'kafka-cluster:Connect' }, options);
  // Brokers log it; it is no part of what is signed.
  query.set('User-Agent', USER_AGENT);
  return Buffer.from(`https://${host}/?${query}`).toString('base64url');
}

/** The same for a user of a database at `host:port`. */
export async function rdsToken(host: string, user: string, options: AwsTokenOptions): Promise<string> {
  return `${host}/?${await signed('rds-db', host, { Action: 'connect', DBUser: user }, options)}`;
}

/** Of this process: it keeps what it has found until that expires. */
let chain: Promise<Credentials> | undefined;

async function signed(
  service: string,
  host: string,
  query: Readonly<Record<string, string>>,
  { region, credentials, now = () => new Date() }: AwsTokenOptions,
): Promise<URLSearchParams> {
  const { awsCredentials, awsSigner } = await clusterPackage('A token of AWS');
  chain ??= awsCredentials();
  const signer = await awsSigner({ service, region, credentials: credentials ?? (await chain) });
  const [hostname = '', port] = host.split(':');
  const address = { hostname, ...(port !== undefined && { port: Number(port) }) };
  const request = { method: 'GET', protocol: 'https:', ...address, path: '/', headers: { host }, query: { ...query } };
  const presigned = await signer.presign(request, { signingDate: now(), expiresIn: VALID_S });
  return new URLSearchParams(presigned.query as Record<string, string>);
}
