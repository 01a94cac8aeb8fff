/** Owns serving the API and the console from a coordinator: who is let in, over what, and the order in which it ends. */

import {
  builtConsole,
  DEFAULT_PORT,
  type Listening,
  LOOPBACK_HOSTS,
  listenApi,
  localAuthenticator,
} from '@tidemark/api';
import {
  type ApiConfig,
  auditTrail,
  type ClusterConfig,
  type Host,
  loadDefinitions,
  logLine,
  openAccess,
} from '@tidemark/host';
import { RegisteredDefinitions } from './registered-definitions.ts';

type OnError = (where: string, error: unknown) => void;

/** Throws `ConfigError` (`port-taken`, `address-unusable`, and as `openAccess` does). */
export async function serveApi(
  host: Host,
  config: ClusterConfig,
  api: ApiConfig,
  onError: OnError,
): Promise<Listening> {
  const modules = config.workflowModules;
  const loaded = modules.length === 0 ? [] : await loadDefinitions(modules, process.cwd());
  const definitions = new RegisteredDefinitions(host, loaded, onError);
  const access = api.access === null ? localAccess(host, onError) : openAccess(host, api.access, { onError });
  const { authenticator, audit } = access;
  const hosts = api.hosts.length > 0 ? api.hosts : api.access === null ? LOOPBACK_HOSTS : undefined;
  const { trustedProxies } = api;
  const { api: files } = config.tls;
  try {
    const listening = await listenApi({
      ...{ place: host, definitions, authenticator, audit, hosts, trustedProxies, onError },
      ...(files?.cert !== undefined && { tls: { ...files, cert: files.cert, key: files.key! } }),
      host: api.host,
      port: api.port ?? DEFAULT_PORT,
      consoleFolder: builtConsole(),
    });
    logLine('info', 'api listening', { url: listening.url });
    return {
      ...listening,
      async close() {
        await listening.close();
        await access.close();
        await definitions.close();
      },
    };
  } catch (error) {
    await access.close();
    await definitions.close();
    throw error;
  }
}

/** Every caller on this machine is the owner; the audit records their actions all the same. */
function localAccess(host: Host, onError: OnError) {
  const audit = auditTrail(host, { onError });
  audit.start();
  return { authenticator: localAuthenticator, audit, close: () => audit.close() };
}
