import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../../..');

/**
 * Installs SST's components into `.sst/platform` if missing. Types, synth and bundling need them.
 *
 * Needs the npm registry, but no AWS access; downloads neither pulumi nor bun.
 */
export function installPlatform(): void {
  const work = join(root, '.sst');
  const isInstalled =
    existsSync(join(work, 'platform/node_modules')) && existsSync(join(work, 'provider-lock.json'));
  if (isInstalled) return;
  process.stderr.write(
    'Installing the SST platform into .sst/platform (once, takes half a minute)\n',
  );
  const sst = join(root, 'node_modules/.bin/sst');
  const { status } = spawnSync(sst, ['install', '--stage', 'test'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      SST_TELEMETRY_DISABLED: '1',
      SST_NO_BUN: '1',
      SST_SKIP_DEPENDENCY_CHECK: '1',
    },
  });
  if (status !== 0) throw new Error(`sst install exited with ${status}; it needs the npm registry`);
}

/** Global setup of the Vitest projects that need the platform; Vitest calls it once, before their first file. */
export function setup(): void {
  installPlatform();
}

if (import.meta.main) installPlatform();
