/** The token for Amazon MSK, against the rules that AWS publishes: Signature Version 4 in the query, for `kafka-cluster:Connect`. */

import { createHash, createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { mskToken } from './msk-token.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const now = () => new Date('2026-11-29T12:00:00.000Z');
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET };

const addressIn = (token: string): URL => new URL(Buffer.from(token, 'base64url').toString());
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** By AWS's description of the algorithm alone. */
function signatureOf({ hostname, searchParams }: URL, region: string): string {
  const signed = [...searchParams].filter(([name]) => name !== 'X-Amz-Signature' && name !== 'User-Agent').toSorted();
  const query = signed.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  const nothing = createHash('sha256').update('').digest('hex');
  const request = ['GET', '/', query, `host:${hostname}`, '', 'host', nothing].join('\n');
  const scope = `20261129/${region}/kafka-cluster/aws4_request`;
  const digest = createHash('sha256').update(request).digest('hex');
  const key = ['20261129', region, 'kafka-cluster', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${SECRET}`);
  return hmac(key as Buffer, ['AWS4-HMAC-SHA256', '20261129T120000Z', scope, digest].join('\n')).toString('hex');
}

it.each([undefined, 'a/session+token=='])(
  'is an address that AWS would have signed (session %s)',
  async (sessionToken) => {
    const token = await mskToken({
      region: 'eu-west-1',
      credentials: { ...credentials, ...(sessionToken && { sessionToken }) },
      now,
    });
    expect(token).toMatch(/^[\w-]+$/);
    const address = addressIn(token);
    expect(address.host).toBe('kafka.eu-west-1.amazonaws.com');
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      Action: 'kafka-cluster:Connect',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20261129/eu-west-1/kafka-cluster/aws4_request',
      'X-Amz-Date': '20261129T120000Z',
      'X-Amz-Expires': '900',
      'X-Amz-SignedHeaders': 'host',
      'User-Agent': 'tidemark',
    });
    expect(address.searchParams.get('X-Amz-Security-Token')).toBe(sessionToken ?? null);
    expect(address.searchParams.get('X-Amz-Signature')).toBe(signatureOf(address, 'eu-west-1'));
    expect(address.href).not.toContain(SECRET);
  },
);
