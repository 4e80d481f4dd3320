/** Whether this is the production stage, whose data survives even `sst remove`. */
export function isProduction(): boolean {
  return $app.stage === 'production';
}

/** Prefixes a name with app and stage, for resources that SST does not name. */
export function nameInStage(name: string): string {
  return `${$app.name}-${$app.stage}-${name}`;
}
