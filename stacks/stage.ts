/** The stage whose data outlives everything, `sst remove` included. */
export function isProduction(): boolean {
  return $app.stage === 'production';
}

/** A name that says whose it is, for resources SST does not name. */
export function nameInStage(name: string): string {
  return `${$app.name}-${$app.stage}-${name}`;
}
