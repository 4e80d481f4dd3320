import type { Lane } from '@thrice/core';

/**
 * What identifies the account that a lane's limits belong to: its name, its endpoints and the variable of its key. Two groups
 * whose lanes agree in all three share the limits.
 */
export function accountOf({ name, endpoints, apiKeyEnv }: Lane): string {
  return JSON.stringify([name, [...endpoints].sort(), apiKeyEnv ?? null]);
}
