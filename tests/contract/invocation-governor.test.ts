import { createInvocationGovernor } from '../../functions/shared/invocation-governor.ts';
import { describeGovernorContract } from './governor-contract.ts';

describeGovernorContract('an invocation', () => createInvocationGovernor(() => 0));
