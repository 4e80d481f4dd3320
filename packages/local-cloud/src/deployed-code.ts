import { join } from 'node:path';
import type { Bundle, BundleFunctions } from './bundle-functions.ts';
import { entryOf } from './entry-of.ts';
import { functionVariables } from './function-variables.ts';
import type { Stack } from './stack.ts';
import type { Emulators } from './start-emulators.ts';

type Variables = Readonly<Record<string, string>>;

/** The part of a function that a deployment replaces. */
export interface DeployedCode {
  readonly bundle: Bundle;
  /** All variables except those specific to one execution environment. */
  readonly variables: Variables;
}

/**
 * Creates a builder of the functions' current sources. Each build goes into a folder of its own, because
 * the previous code is in use until its last invocation ends.
 *
 * @param init.machine - The machine's variables: see `functionVariables`.
 * @returns A function that takes additional variables for every function and returns the code by component.
 */
export function codeBuilder(init: {
  readonly stack: Stack;
  readonly root: string;
  readonly folder: string;
  readonly emulators: Emulators;
  readonly machine: Readonly<Record<string, string | undefined>>;
  readonly bundleFunctions: BundleFunctions;
}): (extra: Variables) => Promise<ReadonlyMap<string, DeployedCode>> {
  const { stack, root, emulators, machine, bundleFunctions } = init;
  let buildCount = 0;
  return async (extra) => {
    buildCount += 1;
    const folder = join(init.folder, `build-${buildCount}`);
    const bundles = await bundleFunctions(stack.functions, { root, folder });
    return new Map(
      stack.functions.map((spec) => {
        const bundle = entryOf(bundles, spec.component);
        const variables = functionVariables({ spec, bundle, emulators, machine, extra });
        return [spec.component, { bundle, variables }] as const;
      }),
    );
  };
}
