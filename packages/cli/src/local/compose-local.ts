import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Lane, ThriceError } from '@thrice/core';
import { LocalEngine, systemClock } from '@thrice/local';
import { createPooledFetch, type ModelClients, openModelClients } from '@thrice/models';
import type { Terminal } from '../shell/terminal.ts';

/**
 * Opens the engine in a folder, creating it if need be.
 *
 * @throws {ThriceError} `store-unusable`.
 */
export function openEngine(folder: string, terminal: Terminal): LocalEngine {
  return new LocalEngine(resolve(terminal.workingFolder, folder));
}

/**
 * Opens the engine in a folder that must hold one.
 *
 * @throws {ThriceError} `unknown-group` when there is none: looking must not create anything.
 */
export function openExistingEngine(folder: string, terminal: Terminal): LocalEngine {
  const path = resolve(terminal.workingFolder, folder);
  if (existsSync(join(path, 'thrice.db'))) return new LocalEngine(path);
  throw new ThriceError({
    code: 'unknown-group',
    message: `${path}: expected runs, found none; start one with "thrice run SPEC" or name their folder with --dir`,
  });
}

/** The model clients, with keys from the environment by the names that lanes give. */
export function openModels(terminal: Terminal): ModelClients {
  return openModelClients({
    keyOf: (lane) => keyOf(lane, terminal),
    clock: systemClock,
    pool: createPooledFetch(),
  });
}

/** Whether a lane's key is set; never the key. */
export function keyStatus(lane: Lane, terminal: Terminal): 'present' | 'missing' | 'not-needed' {
  if (lane.apiKeyEnv === undefined) return 'not-needed';
  return keyOf(lane, terminal) === undefined ? 'missing' : 'present';
}

/** A lane's key, for the clients that send it and for nothing else. */
export function keyOf(lane: Lane, terminal: Terminal): string | undefined {
  if (lane.apiKeyEnv === undefined) return undefined;
  const key = terminal.environment[lane.apiKeyEnv]?.trim();
  return key === '' ? undefined : key;
}
