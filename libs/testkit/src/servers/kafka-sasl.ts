/** Owns a native broker that demands SASL, without TLS, of whoever comes by its second listener; its own address takes anybody. */

import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { jvmFlags, pingKafka, serverProperties } from './kafka.ts';
import { kafkaDistribution } from './kafka-jars.ts';
import { startNativeServer } from './native-server.ts';
import type { NativeServer } from './server.ts';

const run = promisify(execFile);

const SCRAM = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
type ScramMechanism = (typeof SCRAM)[number];

export interface KafkaWithSasl {
  readonly server: NativeServer;
  /** `host:port` of the listener that demands it: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, or OAUTHBEARER with tokens that nobody signed. */
  readonly address: string;
  /** Gives the user another password for this mechanism. */
  setPassword(mechanism: ScramMechanism, password: string): Promise<void>;
}

/** `user` has the password for PLAIN and SCRAM. */
export async function startKafkaWithSasl(user: string, password: string): Promise<KafkaWithSasl> {
  const { java, classPath, formatted } = await kafkaDistribution();
  let address = '';
  const server = await startNativeServer(
    {
      kind: 'kafka',
      portCount: 3,
      address: (port) => `127.0.0.1:${port}`,
      ping: (port) => pingKafka(`127.0.0.1:${port}`),
      async prepare(folder, [port, controllerPort, ownPort]) {
        const data = path.join(folder, 'data');
        cpSync(path.join(formatted, 'data'), data, { recursive: true });
        address = `127.0.0.1:${ownPort}`;
        const plain = serverProperties(data, port ?? 0, controllerPort ?? 0, [{ own: address, advertised: address }]);
        const properties = path.join(folder, 'server.properties');
        await writeFile(
          properties,
          `${plain.replace('LINK0:PLAINTEXT', 'LINK0:SASL_PLAINTEXT')}${saslProperties(user, password)}`,
        );
        return { command: java, args: [...jvmFlags, '-cp', classPath, 'kafka.Kafka', properties], folder };
      },
    },
    'memory',
  );
  const setPassword = async (mechanism: ScramMechanism, other: string): Promise<void> => {
    const to = ['--bootstrap-server', server.address, '--entity-type', 'users', '--entity-name', user, '--alter'];
    const flags = ['-XX:TieredStopAtLevel=1', '-cp', classPath, 'kafka.admin.ConfigCommand'];
    await run(java, [...flags, ...to, '--add-config', `${mechanism}=[password=${other}]`]);
  };
  try {
    // Kafka refuses both in one request.
    for (const mechanism of SCRAM) await setPassword(mechanism, password);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { server, address, setPassword };
}

function saslProperties(user: string, password: string): string {
  const login = 'org.apache.kafka.common.security';
  const scram = `${login}.scram.ScramLoginModule required;`;
  const lines = {
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    'plain.sasl.jaas.config': `${login}.plain.PlainLoginModule required user_${user}="${password}";`,
    'scram-sha-256.sasl.jaas.config': scram,
    'scram-sha-512.sasl.jaas.config': scram,
    'oauthbearer.sasl.jaas.config': `${login}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
  };
  return Object.entries(lines)
    .map(([name, value]) => `listener.name.link0.${name}=${value}\n`)
    .join('');
}
