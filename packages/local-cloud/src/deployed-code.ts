import { join } from 'node:path';
import { type Bundle, bundleFunctions } from './bundle-functions.ts';
import { entryOf } from './entry-of.ts';
import { functionVariables } from './function-variables.ts';
import type { Stack } from './stack.ts';
import type { Emulators } from './start-emulators.ts';

type Variables = Readonly<Record<string, string>>;

/** What a deployment replaces of a function. */
export interface DeployedCode {
  readonly bundle: Bundle;
  /** All of them but the ones of a single environment. */
  readonly variables: Variables;
}

/**
 * Builds the functions as their sources are now, each time into a folder of its own: the code before is in
 * use until its last invocation ends.
 *
 * @param init.machine - The machine's variables: see `functionVariables`.
 * @returns A function of the variables that every function gets on top; it gives the code by component.
 */
export function codeBuilder(init: {
  readonly stack: Stack;
  readonly root: string;
  readonly folder: string;
  readonly emulators: Emulators;
  readonly machine: Readonly<Record<string, string | undefined>>;
}): (extra: Variables) => Promise<ReadonlyMap<string, DeployedCode>> {
  const { stack, root, emulators, machine } = init;
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
