/** Separates the config from the number of its grading. No config that a spec names has it in its name. */
const SEPARATOR = '@';

/**
 * The name of the config whose cells grade the answers of another one: `<config>@<grading>`.
 *
 * @param grading - Number of the grading that first asked the judge what it is asked.
 */
export function gradeConfigName(config: string, grading: number): string {
  return `${config}${SEPARATOR}${grading}`;
}

/** Ends the name of a config whose cells probe how another one grades. */
const PROBE_SUFFIX = '+probe';

/** The name of the config whose cells probe how those of a config grade. */
export function probeConfigName(gradeConfig: string): string {
  return `${gradeConfig}${PROBE_SUFFIX}`;
}

/** Whether the cells of a config probe how answers are graded: they grade none. */
export function isProbeConfig(name: string): boolean {
  return isGradeConfig(name) && name.endsWith(PROBE_SUFFIX);
}

/** Whether the cells of a config grade the answers of another one, or probe how that is done. */
export function isGradeConfig(name: string): boolean {
  return name.includes(SEPARATOR);
}

/** The config whose answers are counted by the cells of a config: itself, or the one whose answers they grade. */
export function answeringConfigOf(name: string): string {
  return name.split(SEPARATOR)[0] ?? name;
}
