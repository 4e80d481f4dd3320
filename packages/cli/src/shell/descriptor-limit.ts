/**
 * Reads how many files and connections a process may have open.
 *
 * That is the hard limit, as of `ulimit -Hn`: Node.js raises the soft one to it as it starts.
 *
 * @returns Undefined if there is no limit, or none that Node.js reports, as on Windows.
 * @see https://nodejs.org/api/report.html (`userLimits`, 2026-11)
 */
export function readDescriptorLimit({
  report,
}: Pick<NodeJS.Process, 'report'>): number | undefined {
  // Otherwise it looks up the host name of each connection.
  Object.assign(report, { excludeNetwork: true });
  const whole: { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } } =
    report.getReport();
  const limit = whole.userLimits?.open_files?.soft;
  return typeof limit === 'number' ? limit : undefined;
}
