import { spawnSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The functions' components. */
export const components = ['Answer', 'Plan', 'Finalize', 'Reconciler'] as const;

/** Where sst leaves a bundle it has made. */
function bundleFolder(component: string): string {
  return join(import.meta.dirname, '../../.sst/artifacts', `${component}-src`);
}

/** Removes the bundles of earlier runs, so that what is found is new. */
export function removeBundles(): void {
  for (const component of components) {
    rmSync(bundleFolder(component), { recursive: true, force: true });
  }
}

/** Size of a function's code, unzipped. */
export function bundleBytes(component: string): number {
  return statSync(join(bundleFolder(component), 'bundle.mjs')).size;
}

/**
 * Imports a bundle in a process of its own, with what Lambda would give it and nothing else.
 *
 * @returns The names it exports, and how long the import took in that process.
 */
export function importBundle(component: string): {
  readonly exports: readonly string[];
  readonly importMs: number;
} {
  const script = `
    const startedAt = performance.now();
    const exports = Object.keys(await import('./bundle.mjs'));
    console.log(JSON.stringify({ exports, importMs: performance.now() - startedAt }));`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    {
      cwd: bundleFolder(component),
      encoding: 'utf8',
      env: {
        AWS_REGION: 'us-east-1',
        // The stand-in for pulumi seals links with this key.
        SST_KEY: Buffer.alloc(32, 7).toString('base64'),
        SST_KEY_FILE: 'resource.enc',
        SST_RESOURCE_App: JSON.stringify({ name: 'thrice', stage: 'test' }),
      },
    },
  );
  if (status !== 0) throw new Error(`importing ${component} ended with ${status}:\n${stderr}`);
  return JSON.parse(stdout) as ReturnType<typeof importBundle>;
}
