import { Session } from 'node:inspector/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const asyncFunction = /^(?:static )?async\b/;

/** Functions of this process that were entered, while a recorder is open. */
export interface EntryRecorder extends Disposable {
  /**
   * Returns how often each asynchronous function was entered since the last call, by file and position, such as
   * `packages/core/src/calls/make-call.ts:120`.
   */
  take(): Promise<ReadonlyMap<string, number>>;
}

/**
 * Starts to record. Modules that were imported before are counted wrongly: V8 counts each time that a generator
 * goes on where it compiled it without counters.
 */
export async function recordEntries(): Promise<EntryRecorder> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Debugger.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return {
    take: async () => {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const entries = new Map<string, number>();
      for (const { url, scriptId, functions } of result) {
        const file = fileOf(url);
        if (file === undefined) continue;
        const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
        for (const { startOffset, count } of functions.flatMap(({ ranges }) =>
          ranges.slice(0, 1),
        )) {
          const isAsync = asyncFunction.test(scriptSource.slice(startOffset, startOffset + 20));
          if (isAsync && count > 0) entries.set(`${file}:${startOffset}`, count);
        }
      }
      return entries;
    },
    [Symbol.dispose]: () => session.disconnect(),
  };
}

function fileOf(url: string): string | undefined {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  if (!path.startsWith(`${root}/`)) return undefined;
  const file = path.slice(root.length + 1);
  return /^(?:functions|packages\/(?!local-cloud|simulator)[\w-]+)\/(?!node_modules)/.test(file)
    ? file
    : undefined;
}
