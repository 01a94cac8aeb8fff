/** Owns separating tests that share a server: a topic name, a database, a key prefix that nobody else uses. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { connectTimeoutMs } from './limits.ts';

function unique(): string {
  return randomBytes(6).toString('hex');
}

/** A topic name that nobody uses; creating and deleting the topic is the test's business. */
export function freshTopicName(about = 'topic'): string {
  return `tidemark-test-${about}-${unique()}`;
}

/** A key prefix that nobody uses, without a trailing separator. Redis keeps nothing after the run. */
export function freshRedisPrefix(): string {
  return `tidemark-test-${unique()}`;
}

export interface FreshDatabase {
  readonly url: string;
  /** Drops it, with the connections that are still open to it. */
  drop(): Promise<void>;
}

/** Creates an empty database beside the one that `address` names. */
export async function freshDatabase(address: string): Promise<FreshDatabase> {
  const name = `tidemark_test_${unique()}`;
  await administer(address, `create database ${name} template template0`);
  const url = new URL(address);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(address, `drop database if exists ${name} with (force)`) };
}

/** `statement` is made of names that this file chose, never of values. */
async function administer(address: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: address, connectionTimeoutMillis: connectTimeoutMs });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
