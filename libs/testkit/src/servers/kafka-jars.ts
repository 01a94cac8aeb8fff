/**
 * Owns the Kafka distribution that the native broker runs from: jars from Maven and a formatted, empty data folder,
 * both in `.cache/kafka`. The version stands in libs/testkit/kafka/pom.xml alone.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnavailableError } from '@tidemark/core';
import { cached, projectFolder, runInstaller } from './cache-folder.ts';
import { findProgram, requireProgram } from './programs.ts';

const run = promisify(execFile);
const javaVersionMin = 17;
const pomFile = path.join(projectFolder, 'libs/testkit/kafka/pom.xml');
/** One id for all test brokers: their data folders are copies of one formatted folder. */
const clusterId = 'TidemarkTestKafka00000';

export interface KafkaDistribution {
  readonly java: string;
  /** Every jar, for `-cp`. */
  readonly classPath: string;
  /** A data folder as `kafka-storage format` creates it, for copying: formatting costs a second of JVM start. */
  readonly formatted: string;
}

export async function kafkaDistribution(): Promise<KafkaDistribution> {
  const java = await findJava();
  const version = /<kafka\.version>([^<]+)</.exec(readFileSync(pomFile, 'utf8'))?.[1] ?? 'unknown';
  const jars = await cached(`kafka/jars-${version}`, fetchJars);
  const classPath = path.join(jars, '*');
  const formatted = await cached(`kafka/formatted-${version}`, (folder) => format(java, classPath, folder));
  return { java, classPath, formatted };
}

async function findJava(): Promise<string> {
  const home = process.env.JAVA_HOME;
  const inHome = home === undefined ? undefined : findProgram('java', [path.join(home, 'bin')]);
  const java =
    inHome ??
    (await requireProgram('java', {
      'apt-get': ['openjdk-17-jre-headless'],
      dnf: ['java-17-openjdk-headless'],
      apk: ['openjdk17-jre-headless'],
    }));
  if (java === undefined) throw new UnavailableError('test-server-missing', 'no java in PATH');
  const { stderr } = await run(java, ['-version']);
  const major = Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0);
  if (major < javaVersionMin) {
    throw new UnavailableError('test-server-missing', `Java ${major} is too old, ${javaVersionMin} is needed`);
  }
  return java;
}

async function fetchJars(folder: string): Promise<void> {
  const maven = await requireProgram('mvn', { 'apt-get': ['maven'], dnf: ['maven'], apk: ['maven'] });
  if (maven === undefined) throw new UnavailableError('test-server-missing', 'no mvn in PATH to fetch the Kafka jars');
  const goal = 'dependency:copy-dependencies';
  await runInstaller(maven, ['-B', '-q', '-f', pomFile, goal, `-DoutputDirectory=${folder}`, '-DincludeScope=runtime']);
}

async function format(java: string, classPath: string, folder: string): Promise<void> {
  const properties = path.join(folder, 'format.properties');
  const voters = 'controller.quorum.voters=1@127.0.0.1:1\nlisteners=CONTROLLER://127.0.0.1:1';
  const names = 'controller.listener.names=CONTROLLER\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT';
  const data = path.join(folder, 'data');
  await writeFile(properties, `process.roles=controller\nnode.id=1\n${voters}\n${names}\nlog.dirs=${data}\n`);
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath];
  await runInstaller(java, [...flags, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties]);
}
