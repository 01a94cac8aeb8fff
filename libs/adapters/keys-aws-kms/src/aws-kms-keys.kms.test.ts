/**
 * Runs the contract of KeyProvider on a server of the AWS KMS API, and tests what that server lacks with scripted answers: throttling,
 * rights.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CreateAliasCommand,
  CreateKeyCommand,
  DisableKeyCommand,
  KMSClient,
  UpdateAliasCommand,
} from '@aws-sdk/client-kms';
import { tenantId, workflowId } from '@tidemark/core';
import type { KeyProvider } from '@tidemark/ports';
import { found, keyProviderContract, spellings } from '@tidemark/testkit/contracts/key-provider';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type AwsKmsKeysOptions, openAwsKmsKeys } from './index.ts';

const region = 'eu-central-1';
const credentials = { accessKeyId: 'AKIATIDEMARK', secretAccessKey: 'hunter2-hunter2-hunter2' };
const context = { tenant: tenantId('t'), workflow: workflowId('w') };
const dataKey = new Uint8Array(32).map((_, index) => index * 7 + 3);
const secrets = [credentials.secretAccessKey, ...spellings(dataKey)];

async function refusal(call: Promise<unknown>): Promise<Error> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toBeInstanceOf(Error);
  expect(found(error!, secrets)).toEqual([]);
  return error!;
}

describeServers('keys in AWS KMS', ['kms'], ({ kms: endpoint }) => {
  const client = new KMSClient({ endpoint, region, credentials });
  afterAll(() => client.destroy());
  const open = (keyId: string, more: Partial<AwsKmsKeysOptions> = {}): Promise<KeyProvider> =>
    openAwsKmsKeys({ keyId, region, endpoint, credentials, ...more });
  const newKey = async (): Promise<string> => (await client.send(new CreateKeyCommand({}))).KeyMetadata!.Arn!;

  let aliases = 0;
  const freshAlias = async (target: string): Promise<string> => {
    aliases += 1;
    const AliasName = `alias/tidemark-${process.pid}-${Date.now()}-${aliases}`;
    await client.send(new CreateAliasCommand({ AliasName, TargetKeyId: target }));
    return AliasName;
  };

  keyProviderContract('aws kms', async () => {
    const arn = await newKey();
    const alias = await freshAlias(arn);
    const keys = await open(alias);
    return {
      keys,
      again: () => open(arn),
      async rotate() {
        await client.send(new UpdateAliasCommand({ AliasName: alias, TargetKeyId: await newKey() }));
        return open(alias);
      },
      async foreign(key, about) {
        const other = await open(await newKey());
        return { ...(await other.wrap(key, about)), wrappedBy: arn };
      },
      damaged(key) {
        const bytes = Buffer.from(key.wrapped, 'base64');
        bytes[bytes.length - 1]! ^= 1;
        return { ...key, wrapped: bytes.toString('base64') };
      },
      async away() {
        const way = await openedOnce(endpoint);
        const opened = await open(alias, { endpoint: way.endpoint, attemptsMax: 1 });
        await way.end();
        return opened;
      },
      secrets: () => [credentials.secretAccessKey],
      close: () => keys.close(),
    };
  });

  test('the current key is named by its ARN, however it was given', async () => {
    const arn = await newKey();
    for (const keyId of [arn, arn.split('/')[1]!, await freshAlias(arn)]) {
      const keys = await open(keyId);
      expect(await keys.current()).toBe(arn);
      await keys.close();
    }
  });

  test('a key that is not there, disabled, or of another kind is refused when it is opened', async () => {
    const disabled = await newKey();
    await client.send(new DisableKeyCommand({ KeyId: disabled.split('/')[1]! }));
    const signing = await client.send(new CreateKeyCommand({ KeyUsage: 'SIGN_VERIFY', KeySpec: 'ECC_NIST_P256' }));
    for (const [keyId, said] of [
      ['alias/no-such-key', /there is no such key/],
      [disabled, /has state Disabled/],
      [signing.KeyMetadata!.Arn!, /ECC_NIST_P256; a symmetric one is needed/],
    ] as const) {
      expect(await refusal(open(keyId))).toMatchObject({
        name: 'ConfigError',
        code: 'key-refused',
        message: expect.stringMatching(said),
      });
    }
  });
});

/** A relay to the server that disappears after the opening. */
async function openedOnce(target: string): Promise<{ readonly endpoint: string; end(): Promise<void> }> {
  const way = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.entries(request.headers).filter(([name]) => /^(x-amz|content-type|auth)/.test(name));
    const answer = await fetch(target, {
      method: 'POST',
      headers: Object.fromEntries(headers) as Record<string, string>,
      body: Buffer.concat(chunks),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  });
  const endpoint = await listening(way);
  return {
    endpoint,
    async end() {
      way.closeAllConnections();
      await new Promise((resolve) => way.close(resolve));
    },
  };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('answers that the test server never gives', () => {
  const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1';
  let answer: (target: string, response: ServerResponse, request: IncomingMessage) => void;
  let fake: Server;
  let endpoint: string;
  beforeAll(async () => {
    fake = createServer((request, response) => {
      request.resume();
      const target = String(request.headers['x-amz-target']).split('.')[1]!;
      if (target === 'DescribeKey') say(response, 200, { KeyMetadata: { KeyId: '1', Arn: arn, KeyState: 'Enabled' } });
      else answer(target, response, request);
    });
    endpoint = await listening(fake);
  });
  afterEach(() => fake.closeAllConnections());
  afterAll(() => new Promise((resolve) => fake.close(resolve)));

  const say = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const open = (more: Partial<AwsKmsKeysOptions> = {}): Promise<KeyProvider> =>
    openAwsKmsKeys({ keyId: arn, region, endpoint, credentials, attemptsMax: 1, ...more });
  const wrapped = { provider: 'aws-kms', wrappedBy: arn, wrapped: Buffer.from('ciphertext').toString('base64') };

  test.each([
    ['AccessDeniedException', 400, 'ConfigError', 'key-refused', /may not use it: so it is/],
    ['NotFoundException', 400, 'ConfigError', 'key-refused', /no such key/],
    ['DisabledException', 400, 'ConfigError', 'key-refused', /disabled/],
    ['KMSInvalidStateException', 400, 'ConfigError', 'key-refused', /deleted/],
    ['InvalidKeyUsageException', 400, 'ConfigError', 'key-refused', /not for encryption/],
    ['UnrecognizedClientException', 400, 'ConfigError', 'key-refused', /access key/],
    ['ThrottlingException', 400, 'UnavailableError', 'keys-unavailable', /throttles/],
    ['KeyUnavailableException', 500, 'UnavailableError', 'keys-unavailable', /at the moment/],
    ['DependencyTimeoutException', 503, 'UnavailableError', 'keys-unavailable', /in time/],
    ['KMSInternalException', 500, 'UnavailableError', 'keys-unavailable', /KMSInternalException/],
  ])('%s (%i) is %s %s', async (type, status, name, code, said) => {
    answer = (_, response) => say(response, status, { __type: type, message: 'so it is' });
    const keys = await open();
    for (const call of [() => keys.wrap(dataKey, context), () => keys.unwrap(wrapped, context)]) {
      expect(await refusal(call())).toMatchObject({ name, code, message: expect.stringMatching(said) });
    }
    await keys.close();
  });

  test.each(['IncorrectKeyException', 'InvalidCiphertextException'])('%s is a wrong key', async (type) => {
    answer = (_, response) => say(response, 400, { __type: type });
    const keys = await open();
    expect(await refusal(keys.unwrap(wrapped, context))).toMatchObject({ name: 'CorruptError', code: 'key-wrong' });
    await keys.close();
  });

  test('a refusal that quotes the request is not repeated', async () => {
    answer = (_, response) => {
      const message = `Value '${Buffer.from(dataKey).toString('base64')}' of ${credentials.secretAccessKey}`;
      say(response, 400, { __type: 'ValidationException', message });
    };
    const keys = await open();
    expect(await refusal(keys.wrap(dataKey, context))).toMatchObject({ code: 'key-refused' });
    await keys.close();
  });

  test('an answer that is no JSON is not repeated', async () => {
    answer = (_, response) => say(response, 200, `{"Plaintext":"${Buffer.from(dataKey).toString('base64')}`);
    const keys = await open();
    expect(await refusal(keys.unwrap(wrapped, context))).toMatchObject({ code: 'keys-unavailable' });
    await keys.close();
  });

  test('what is throttled is asked again, after pauses; without tries left it is told', async () => {
    let throttled = 0;
    answer = (_, response) => {
      throttled += 1;
      if (throttled <= 1) say(response, 400, { __type: 'ThrottlingException', message: 'Rate exceeded' });
      else say(response, 200, { KeyId: arn, CiphertextBlob: wrapped.wrapped });
    };
    const keys = await open({ attemptsMax: 2 });
    expect(await keys.wrap(dataKey, context)).toEqual(wrapped);
    expect(throttled).toBe(2);
    throttled = Number.NEGATIVE_INFINITY;
    const error = await refusal(keys.wrap(dataKey, context));
    expect(error).toMatchObject({
      code: 'keys-unavailable',
      message: expect.stringContaining('throttles'),
      details: { isThrottled: true, reason: 'ThrottlingException' },
    });
    await keys.close();
  });

  test('a server that hangs is not waited for', async () => {
    answer = () => {};
    const keys = await open({ requestTimeoutMs: 200 });
    for (const call of [() => keys.wrap(dataKey, context), () => keys.unwrap(wrapped, context)]) {
      expect(await refusal(call())).toMatchObject({
        code: 'keys-unavailable',
        message: expect.stringMatching(/in time/),
      });
    }
    await keys.close();
  });

  test('tenant and workflow are the encryption context, and the key that was recorded is named', async () => {
    const asked: unknown[] = [];
    answer = async (target, response, request) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { KeyId, EncryptionContext } = JSON.parse(Buffer.concat(chunks).toString());
      asked.push([target, KeyId, EncryptionContext]);
      say(response, 200, { KeyId: arn, CiphertextBlob: wrapped.wrapped, Plaintext: wrapped.wrapped });
    };
    const keys = await open();
    await keys.wrap(dataKey, context);
    const older = `${arn}-older`;
    await keys.unwrap({ ...wrapped, wrappedBy: older }, context);
    expect(asked).toEqual([
      ['Encrypt', arn, { tenant: 't', workflow: 'w' }],
      ['Decrypt', older, { tenant: 't', workflow: 'w' }],
    ]);
    await keys.close();
  });
});
