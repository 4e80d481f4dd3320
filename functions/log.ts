/** Structured lines for CloudWatch, one JSON object each; values are facts, never prompts or keys. */
export interface Log {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

/** A log on stdout, where Lambda collects it. */
export function createLog(): Log {
  const write =
    (level: string) =>
    (message: string, facts: Readonly<Record<string, unknown>> = {}) => {
      process.stdout.write(`${JSON.stringify({ level, message, ...facts })}\n`);
    };
  return { info: write('INFO'), error: write('ERROR') };
}
