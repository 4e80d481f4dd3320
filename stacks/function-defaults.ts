import { isProduction } from './stage.ts';

/** What every function has unless it says otherwise. */
export function setFunctionDefaults(): void {
  $transform(sst.aws.Function, (args) => {
    args.runtime ??= 'nodejs24.x';
    args.architecture ??= 'arm64';
    args.logging ??= { retention: isProduction() ? '3 months' : '2 weeks', format: 'json' };
    if ($dev) return;
    const transform = args.transform ?? {};
    args.transform = transform;
    // SST 4.17.1 takes an unresolved value for true here and lets the whole account assume the role.
    transform.role = (role) => {
      role.assumeRolePolicy = aws.iam.assumeRolePolicyForPrincipal({
        Service: 'lambda.amazonaws.com',
      });
      return undefined;
    };
  });
}
