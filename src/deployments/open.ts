import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { ScorecardService } from './api-v1/service.ts'
import { DeploymentService } from './service.ts'
import { PostgresDeploymentStore } from './store.ts'

interface DeploymentOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly clock: Clock
  readonly requestLifeMs: number
  readonly onChange: (deploymentId: string) => void
}

export interface DeploymentServices {
  readonly deployments: DeploymentService
  /** The same in the words of `/api/v1`. */
  readonly scorecards: ScorecardService
}

/** Wires the deployments. */
export function openDeployments(options: DeploymentOptions): DeploymentServices {
  const { db, guarded, clock, requestLifeMs, onChange } = options
  const deployments = new DeploymentService({
    store: guarded(new PostgresDeploymentStore(db)),
    clock,
    requestLifeMs,
    onChange,
  })
  return { deployments, scorecards: new ScorecardService(deployments, clock) }
}
