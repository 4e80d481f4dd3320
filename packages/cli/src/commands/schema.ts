import { benchmarkSpecSchema } from '@thrice/core';
import * as z from 'zod';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';

/** `thrice schema`: prints the JSON Schema of a spec, generated from the schema that checks specs. */
export async function printSchema(terminal: Terminal): Promise<ExitCode> {
  const schema = z.toJSONSchema(benchmarkSpecSchema, { io: 'input' });
  terminal.print(JSON.stringify({ title: 'Thrice benchmark spec', ...schema }, null, 2));
  return exitCodes.complete;
}
