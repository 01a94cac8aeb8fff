/** Owns a real issuer of tokens (`oidc-provider`) on this machine, for tests. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWTPayload, SignJWT } from 'jose';
import { type Configuration, Provider } from 'oidc-provider';

export const AUDIENCE = 'https://tidemark.example/api';
/** A program with which people log in, without a secret. */
export const DEVICE_CLIENT = 'tidemark-cli';
/** Claims of each client's tokens, by its id. */
const CLAIMS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ci: { tenant: 'acme', roles: ['operator', 'astronaut'] },
  other: { tenant: 'globex', roles: ['viewer'] },
  platform: { tenant: '*', roles: ['admin'] },
  nobody: {},
};

interface SignedAs {
  readonly typ?: string;
  /** False: it doesn't say which key signed it. */
  readonly namesKey?: boolean;
}

type SigningKey = Awaited<ReturnType<typeof signingKey>>;

async function signingKey(kid: string) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

export class TokenIssuer {
  #server: Server | undefined;
  #port = 0;
  /** It signs with the last. */
  #keys: readonly SigningKey[];
  #keyCount = 1;
  #provider: Provider | undefined;
  /** Requests for its keys so far. */
  keysAskedCount = 0;

  private constructor(key: SigningKey) {
    this.#keys = [key];
  }

  static async start(): Promise<TokenIssuer> {
    const fixture = new TokenIssuer(await signingKey('key-1'));
    await fixture.#listen();
    return fixture;
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A token for this client, as the issuer makes it. */
  async token(client: string, resource = AUDIENCE): Promise<string> {
    const answer = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client}:secret`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
    });
    const { access_token: token, ...rest } = (await answer.json()) as { access_token?: string };
    if (token === undefined) throw new Error(JSON.stringify(rest));
    return token;
  }

  /** A token with the issuer's own signature and the test's claims. */
  async signed(claims: JWTPayload, { namesKey = true, ...header }: SignedAs = {}): Promise<string> {
    const key = await importJWK(this.#key, 'RS256');
    return new SignJWT({ iss: this.issuer, aud: AUDIENCE, sub: 'ci', tenant: 'acme', ...claims })
      .setProtectedHeader({ alg: 'RS256', ...(namesKey && { kid: this.#key.kid }), ...header })
      .sign(key);
  }

  /** Somebody types the code of a device in a browser, and agrees. False: there is no such code. */
  async typeCode(code: string, account: string): Promise<boolean> {
    const { DeviceCode, Grant } = this.#provider!;
    const device = await DeviceCode.findByUserCode(code.replaceAll('-', ''));
    if (device === undefined) return false;
    const grant = new Grant({ accountId: account, clientId: device.clientId! });
    grant.addOIDCScope('openid offline_access');
    grant.addResourceScope(AUDIENCE, 'api');
    const scope = 'openid offline_access';
    Object.assign(device, { accountId: account, grantId: await grant.save(), scope, resource: AUDIENCE });
    Object.assign(device, { authTime: Math.floor(Date.now() / 1_000) });
    await device.save();
    return true;
  }

  get #key(): SigningKey {
    return this.#keys.at(-1)!;
  }

  /** The public half, as anybody can get it. */
  get publicKey(): Readonly<Record<string, unknown>> {
    const { kty, n, e, kid, alg, use } = this.#key;
    return { kty, n, e, kid, alg, use };
  }

  /** From now on it signs with another key, and forgets the old one. */
  async rotate(): Promise<void> {
    await this.#hold([await this.#newKey()]);
  }

  /** From now on it signs with another key, and publishes the earlier ones too. */
  async addKey(): Promise<void> {
    await this.#hold([...this.#keys, await this.#newKey()]);
  }

  #newKey(): Promise<SigningKey> {
    return signingKey(`key-${++this.#keyCount}`);
  }

  async #hold(keys: readonly SigningKey[]): Promise<void> {
    this.#keys = keys;
    await this.stop();
    await this.#listen();
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  async startAgain(): Promise<void> {
    if (this.#server === undefined) await this.#listen();
  }

  async #listen(): Promise<void> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    const provider = new Provider(this.issuer, this.#configuration());
    this.#provider = provider;
    const answer = provider.callback();
    server.on('request', (request, response) => {
      if (request.url?.startsWith('/jwks') === true) this.keysAskedCount++;
      void answer(request, response);
    });
    this.#server = server;
  }

  #configuration(): Configuration {
    return {
      jwks: { keys: [...this.#keys] },
      clients: [
        ...Object.keys(CLAIMS).map((id) => ({
          client_id: id,
          client_secret: 'secret',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        })),
        {
          client_id: DEVICE_CLIENT,
          application_type: 'native',
          grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
          token_endpoint_auth_method: 'none',
          redirect_uris: [],
          response_types: [],
        },
      ],
      findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        deviceFlow: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: (_context, resource) => ({
            scope: 'api',
            audience: resource,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 600,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      extraTokenClaims: (_context, token) => ({ ...CLAIMS[token.clientId ?? ''] }),
    } as Configuration;
  }
}
