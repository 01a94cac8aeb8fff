/**
 * Owns the KeyProvider on AWS KMS: KMS itself encrypts and decrypts data keys, with tenant and workflow as the encryption context, which
 * stands in the clear in CloudTrail. KMS rotates the material of a key without another name (automatic rotation), and nothing has to be
 * wrapped again then. Another key, or an alias that names another, is a rotation here; the old one still unwraps. Needs the rights
 * `kms:Encrypt`, `kms:Decrypt` and `kms:DescribeKey`. Must not print or store a secret of the credentials.
 */

import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  KMSClient,
  type KMSClientConfig,
} from '@aws-sdk/client-kms';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { ConfigError, TidemarkError } from '@tidemark/core';
import { isInClear, type KeyContext, type KeyProvider, keyWrong, type WrappedKey } from '@tidemark/ports';
import { faultOf, isWrong, unfit } from './kms-faults.ts';

/** Connections to KMS; more requests wait. */
const CONNECTIONS_MAX = 32;
/** Attempts of one request, the first included; the pauses between them grow. */
const ATTEMPTS_MAX = 4;
/** How long a connection may take to open, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may go without an answer, in milliseconds. KMS answers within tens. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Largest ciphertext that KMS takes, in bytes. */
const CIPHERTEXT_MAX_BYTES = 6_144;

export interface AwsKmsKeysOptions {
  /** Id, ARN or alias (`alias/…`) of a symmetric key for encryption. */
  readonly keyId: string;
  readonly region: string;
  /** Address of a server other than Amazon's, or of a VPC. */
  readonly endpoint?: string;
  /** Absent: the AWS SDK finds them (environment, profile, the machine's role). */
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  /** Longest wait for an answer, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** Attempts of one request, the first included. */
  readonly attemptsMax?: number;
}

/**
 * Checks the key with one request. Throws `ConfigError` (`key-refused`: it is missing, disabled or of the wrong kind, or the credentials
 * don't fit) and `UnavailableError` (`keys-unavailable`).
 */
export async function openAwsKmsKeys(options: AwsKmsKeysOptions): Promise<KeyProvider> {
  const keys = new AwsKmsKeys(new KMSClient(configOf(options)), options.keyId);
  try {
    await keys.current();
  } catch (error) {
    await keys.close();
    throw error;
  }
  return keys;
}

/** Throws `ConfigError` (`key-address-invalid`): data keys are sent to the endpoint, and come from it. */
function configOf({ region, endpoint, credentials, ...limits }: AwsKmsKeysOptions): KMSClientConfig {
  if (endpoint !== undefined && URL.canParse(endpoint) && isInClear(new URL(endpoint))) {
    const message =
      'endpoint: data keys would cross the network in clear; give https://…, or an address of this machine.';
    throw new ConfigError('key-address-invalid', message);
  }
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, attemptsMax = ATTEMPTS_MAX } = limits;
  return {
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials !== undefined && { credentials }),
    maxAttempts: attemptsMax,
    requestHandler: new NodeHttpHandler({
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: requestTimeoutMs,
      httpAgent: { maxSockets: CONNECTIONS_MAX },
      httpsAgent: { maxSockets: CONNECTIONS_MAX },
    }),
  };
}

const PROVIDER = 'aws-kms';

class AwsKmsKeys implements KeyProvider {
  readonly name = PROVIDER;
  readonly #client: KMSClient;
  readonly #keyId: string;

  constructor(client: KMSClient, keyId: string) {
    this.#client = client;
    this.#keyId = keyId;
  }

  /** The key's ARN. */
  async current(): Promise<string> {
    const { KeyMetadata: key } = await this.#guarded(this.#keyId, () =>
      this.#client.send(new DescribeKeyCommand({ KeyId: this.#keyId })),
    );
    if (key?.Arn === undefined) throw unfit(this.#keyId, 'is described without a name');
    if (key.KeyState !== undefined && key.KeyState !== 'Enabled') throw unfit(this.#keyId, `has state ${key.KeyState}`);
    if (key.KeySpec !== undefined && key.KeySpec !== 'SYMMETRIC_DEFAULT') {
      throw unfit(this.#keyId, `is of kind ${key.KeySpec}; a symmetric one is needed (SYMMETRIC_DEFAULT)`);
    }
    return key.Arn;
  }

  async wrap(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey> {
    const { CiphertextBlob: bytes, KeyId: arn } = await this.#guarded(this.#keyId, () =>
      this.#client.send(
        new EncryptCommand({ KeyId: this.#keyId, Plaintext: dataKey, EncryptionContext: boundTo(context) }),
      ),
    );
    if (bytes === undefined || arn === undefined) throw unfit(this.#keyId, 'gave no ciphertext');
    return { provider: PROVIDER, wrappedBy: arn, wrapped: Buffer.from(bytes).toString('base64') };
  }

  async unwrap(key: WrappedKey, context: KeyContext): Promise<Uint8Array> {
    if (key.provider !== PROVIDER) throw keyWrong(key, context, 'is not for AWS KMS');
    const bytes = Buffer.from(key.wrapped, 'base64');
    const isPossible = bytes.length > 0 && bytes.length <= CIPHERTEXT_MAX_BYTES;
    // Node decodes base64 leniently, so other texts would pass as well.
    if (!isPossible || bytes.toString('base64') !== key.wrapped) throw keyWrong(key, context, 'was changed');
    // The request names the recorded key, so that KMS uses no other.
    const request = { KeyId: key.wrappedBy, CiphertextBlob: bytes, EncryptionContext: boundTo(context) };
    const { Plaintext: dataKey } = await this.#guarded(key.wrappedBy, () =>
      this.#client.send(new DecryptCommand(request)).catch((error: unknown) => {
        throw isWrong(error) ? keyWrong(key, context, 'belongs to something else or was changed') : error;
      }),
    );
    if (dataKey === undefined) throw unfit(key.wrappedBy, 'gave no plaintext');
    return new Uint8Array(dataKey);
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  async #guarded<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof TidemarkError ? error : faultOf(key, error);
    }
  }
}

const boundTo = ({ tenant, workflow }: KeyContext): Record<string, string> => ({ tenant, workflow });
