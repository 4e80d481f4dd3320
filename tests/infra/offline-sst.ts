import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { installPlatform } from '../../packages/local-cloud/src/synth/install-platform.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');

/** The result of an sst CLI command. */
export interface SstResult {
  readonly exitCode: number;
  /** Standard output and standard error. */
  readonly output: string;
}

/**
 * Runs the real sst CLI with stubs for pulumi and AWS. It evaluates the config, bundles and zips each
 * function, and writes `sst-env.d.ts` without using the network.
 */
export async function runSst(...args: readonly string[]): Promise<SstResult> {
  installPlatform();
  await using configHome = await temporaryFolder();
  const pulumi = configHome.resolve('sst/bin/pulumi');
  await mkdir(dirname(pulumi), { recursive: true });
  await symlink(join(import.meta.dirname, 'pulumi-stub.mjs'), pulumi);
  await using aws = await startAwsStub();
  const child = spawn(join(root, 'node_modules/.bin/sst'), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      XDG_CONFIG_HOME: configHome.path,
      SST_TELEMETRY_DISABLED: '1',
      SST_NO_BUN: '1',
      SST_SKIP_DEPENDENCY_CHECK: '1',
      AWS_ENDPOINT_URL: aws.url,
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
  });
  const closed = once(child, 'close');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  return { exitCode: child.exitCode ?? 1, output: out + err };
}

async function startAwsStub(): Promise<AsyncDisposable & { readonly url: string }> {
  const stub = spawn(process.execPath, [join(import.meta.dirname, 'aws-stub.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(stub.stdout, 'data')) as [Buffer];
  return {
    url: line.toString().trim(),
    [Symbol.asyncDispose]: async () => {
      const exited = once(stub, 'exit');
      stub.kill();
      await exited;
    },
  };
}
