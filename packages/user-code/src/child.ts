// Runs in a process of its own: loads one file of a user and calls its functions. Started by `CodeProcess`.
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Reply, Request, Returned } from './messages.ts';

/** The longest result, characters of JSON. */
const MAX_RESULT_LENGTH = 1_000_000;
/** The longest text about an error. */
const MAX_MESSAGE_LENGTH = 4_000;
/** How long results are gathered before they are sent, ms. */
const GATHER_MS = 50;

type Methods = Readonly<Record<string, unknown>>;

// The file that is loaded has no use for it, and would be taken for this one.
const tell = process.send?.bind(process);
delete process.send;
const files: string[] = [];
let methods: Methods = {};

endWithParent();
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith('file:') && !url.includes('/node_modules/')) files.push(fileURLToPath(url));
    return next(url, context);
  },
});
process.on('message', (request: Request) => void serve(request));
process.on('disconnect', () => process.exit());

async function serve(request: Request): Promise<void> {
  if (request.kind === 'load') await send(await load(request.file));
  else await callEach(request.method, request.inputs);
}

async function load(file: string): Promise<Reply> {
  try {
    const { default: exported } = (await import(pathToFileURL(file).href)) as { default?: unknown };
    if (typeof exported !== 'object' || exported === null) {
      return {
        kind: 'unloadable',
        message: `expected "export default { ... }", received ${typeof exported}`,
      };
    }
    methods = exported as Methods;
    const names = Object.keys(methods).filter((name) => typeof methods[name] === 'function');
    return { kind: 'loaded', json: toJson(exported), methods: names, files };
  } catch (error) {
    return { kind: 'unloadable', message: describe(error) };
  }
}

async function callEach(method: string, inputs: readonly unknown[]): Promise<void> {
  let gathered: Returned[] = [];
  let sentAtMs = performance.now();
  for (const input of inputs) {
    gathered.push(await call(method, input));
    if (performance.now() - sentAtMs < GATHER_MS) continue;
    await send({ kind: 'results', results: gathered });
    gathered = [];
    sentAtMs = performance.now();
  }
  if (gathered.length > 0) await send({ kind: 'results', results: gathered });
}

async function call(method: string, input: unknown): Promise<Returned> {
  let value: unknown;
  try {
    const own = methods[method];
    if (typeof own !== 'function') throw new Error(`expected a function "${method}"`);
    value = await own.call(methods, input);
  } catch (error) {
    return { kind: 'threw', message: describe(error) };
  }
  try {
    const json = toJson(value);
    if (json.length <= MAX_RESULT_LENGTH) return { kind: 'returned', json };
    const message = `expected at most ${MAX_RESULT_LENGTH} characters of JSON, received ${json.length}`;
    return { kind: 'unusable', message };
  } catch (error) {
    return { kind: 'unusable', message: describe(error) };
  }
}

/** JSON, but for numbers that it would turn into null in silence. */
function toJson(value: unknown): string {
  const json = JSON.stringify(value, (name, each: unknown) => {
    if (typeof each !== 'number' || Number.isFinite(each)) return each;
    throw new TypeError(
      `expected a finite number${name === '' ? '' : ` as "${name}"`}, received ${each}`,
    );
  }) as string | undefined;
  if (json === undefined) throw new TypeError(`expected an object, received ${typeof value}`);
  return json;
}

function describe(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return text.slice(0, MAX_MESSAGE_LENGTH);
}

async function send(reply: Reply): Promise<void> {
  await new Promise<void>((resolve) => {
    tell?.(reply, undefined, undefined, () => resolve());
  });
}

/** A loop without end does not hear that the parent is gone, which names itself in an argument; a thread beside it does. */
function endWithParent(): void {
  const watch = `
    setInterval(() => { if (process.ppid !== ${Number(process.argv[2])}) process.kill(process.pid, 'SIGKILL'); }, 1000);
  `;
  new Worker(watch, { eval: true, execArgv: [] }).unref();
}
