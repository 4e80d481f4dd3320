#!/usr/bin/env node
// Starts the command on a new enough Node: this one, or the one that npm installed beside us.
// Plain JavaScript that old versions can read.
const REQUIRED_MAJOR = 24;

function isNewEnough(version) {
  return Number(version.split('.')[0]) >= REQUIRED_MAJOR;
}

async function findNode() {
  const { createRequire } = await import('node:module');
  try {
    return createRequire(import.meta.url).resolve('node/bin/node');
  } catch {
    return undefined;
  }
}

// Working on a benchmark makes much short-lived garbage. By default the heap then grows to several
// times of what is in use; these keep a run of any size below 250 MB at a twentieth more CPU time.
const HEAP_FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=100'];
const WORKING_COMMANDS = ['run', 'resume', 'rerun', 'work'];

// Flags of the heap count only at a process's start: it starts over, under the same process number.
function restartWithHeapFlags() {
  const hasFlags = HEAP_FLAGS.every((flag) => process.execArgv.includes(flag));
  const isWorking = WORKING_COMMANDS.includes(process.argv[2] ?? '');
  if (hasFlags || !isWorking || typeof process.execve !== 'function') return;
  const args = [process.execPath, ...HEAP_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args);
}

async function start() {
  restartWithHeapFlags();
  const { enableCompileCache } = await import('node:module');
  enableCompileCache();
  const { main } = await import('../src/main.ts');
  await main(process.argv.slice(2));
}

async function restart(node) {
  const { spawn } = await import('node:child_process');
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  // A terminal sends SIGINT and SIGHUP to both; what comes to us alone is passed on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

if (isNewEnough(process.versions.node)) {
  await start();
} else {
  const node = await findNode();
  if (node === undefined) {
    process.stderr.write(
      `thrice needs Node ${REQUIRED_MAJOR} or newer, this is ${process.versions.node}: install it, or run "npm ci" here\n`,
    );
    process.exitCode = 69;
  } else {
    await restart(node);
  }
}
