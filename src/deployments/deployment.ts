import type { Environment } from '../auth/caller.ts'

/** A scoring endpoint as it is created; its id is also its slug. */
export interface NewDeployment {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly championModelId: string
  readonly shadowMode: boolean
  /** Rises by one with each change that can alter an answer. */
  readonly cacheVersion: number
  readonly createdAt: Date
  readonly updatedAt: Date
}
