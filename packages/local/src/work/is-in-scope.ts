import { answeringConfigOf } from '@thrice/core';
import type { TaskScope } from '../store/sqlite-task-queue.ts';

/** Whether the cells of a config are worked on: those that grade with those whose answers they grade. */
export function isInScope(config: string, { configs }: TaskScope): boolean {
  return configs.includes(answeringConfigOf(config));
}
