/** Owns a bucket for an archive on a test's S3 server, and the credentials for it, which the AWS SDK looks for in the environment. */

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { StartedServer } from '@tidemark/testkit/servers';

export type Env = Readonly<Record<string, string>>;

/** Makes the bucket. Returns the settings that lead a process to an archive in it. */
export async function makeArchive({ address }: Pick<StartedServer, 'address'>, bucket: string): Promise<Env> {
  const { origin, username, password } = new URL(address);
  const credentials = { accessKeyId: username, secretAccessKey: password };
  const client = new S3Client({ endpoint: origin, credentials, region: 'us-east-1', forcePathStyle: true });
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } finally {
    client.destroy();
  }
  return {
    TIDEMARK_ARCHIVE_URL: `s3://${bucket}/archive/?endpoint=${encodeURIComponent(origin)}&region=us-east-1`,
    AWS_ACCESS_KEY_ID: username,
    AWS_SECRET_ACCESS_KEY: password,
  };
}

/** Gives this process those of the settings that are credentials; returns what takes them back. */
export function borrowCredentials(env: Env): () => void {
  const names = Object.keys(env).filter((name) => name.startsWith('AWS_'));
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) process.env[name] = env[name];
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
