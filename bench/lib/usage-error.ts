/** Why a scenario can't run here as it was asked to: whoever asked is told this one sentence. */
export class UsageError extends Error {}
