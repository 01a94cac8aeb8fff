/** The tokens for Amazon: MSK's against the rules that AWS publishes (Signature Version 4 in the query), RDS's against the vectors of AWS's own signers. */

import { createHash, createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { mskToken, rdsToken } from './aws-token.ts';

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

/** Their order of the query isn't ours, and is no part of what is signed. */
const parts = (token: string) => {
  const [host, query] = token.split('/?');
  return { host, ...Object.fromEntries(new URLSearchParams(query)) };
};

it.each([
  {
    of: 'the AWS SDK for Java 2',
    ...{
      host: 'host.us-east-1.amazonaws.com:3306',
      user: 'mySQLUser',
      region: 'us-east-1',
      at: '2016-11-07T17:39:33Z',
    },
    credentials: { accessKeyId: 'access_key', secretAccessKey: 'secret_key' },
    query:
      'DBUser=mySQLUser&Action=connect&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20161107T173933Z&X-Amz-SignedHeaders=host&X-Amz-Expires=900&X-Amz-Credential=access_key%2F20161107%2Fus-east-1%2Frds-db%2Faws4_request&X-Amz-Signature=87ab58107ef49f1c311a412f98b7f976b0b5152ffb559f0d36c6c9a0c5e0e362',
  },
  {
    of: 'the AWS SDK for JavaScript 2',
    ...{ host: 'db.us-east-1.amazonaws.com:8000', user: 'test', region: 'us-east-1', at: '1970-01-01T00:00:00Z' },
    credentials: { accessKeyId: 'akid', secretAccessKey: 'secret' },
    query:
      'Action=connect&DBUser=test&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=akid%2F19700101%2Fus-east-1%2Frds-db%2Faws4_request&X-Amz-Date=19700101T000000Z&X-Amz-Expires=900&X-Amz-Signature=6f2b4daa29668c1c264d7af7927d9d2a706768e35d92d76b461aedbaca14b6ad&X-Amz-SignedHeaders=host',
  },
  {
    of: 'a generator for JDBC, with the token of a session',
    host: 'dbhost.xyz.eu-west-1.amazonaws.com:3306',
    ...{ user: 'iam_user', region: 'eu-west-1', at: '2018-09-19T16:02:42Z' },
    credentials: { accessKeyId: 'IAMKEYINSTANCE', secretAccessKey: 'asdfqwertypolly', sessionToken: 'mytoken' },
    query:
      'Action=connect&DBUser=iam_user&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=IAMKEYINSTANCE%2F20180919%2Feu-west-1%2Frds-db%2Faws4_request&X-Amz-Date=20180919T160242Z&X-Amz-Expires=900&X-Amz-Security-Token=mytoken&X-Amz-SignedHeaders=host&X-Amz-Signature=8966604a85aa991ef9bed5135aa8565e0e22ae375d2b85892a16e1a642ae0bd1',
  },
])('is the password of RDS that was published with $of', async ({ host, user, query, at, ...options }) => {
  const token = await rdsToken(host, user, { ...options, now: () => new Date(at) });
  expect(parts(token)).toEqual(parts(`${host}/?${query}`));
});
