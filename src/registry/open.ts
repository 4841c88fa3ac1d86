import type { Deps } from '../platform/deps.ts'
import { ScorecardService } from './deployments/scorecard-service.ts'
import { DeploymentService } from './deployments/service.ts'
import { DeploymentStore } from './deployments/store.ts'
import { ModelCopyService } from './models/copies/service.ts'
import { ModelCopyStore } from './models/copies/store.ts'
import { ModelService } from './models/service.ts'
import { ModelStore } from './models/store.ts'

interface RegistryOptions {
  readonly samples: ConstructorParameters<typeof ModelService>[0]['samples']
  readonly requestLifeMs: number
  /** Called with the id of each changed deployment, before the response is sent. */
  readonly onChange: (deploymentId: string) => void
}

/** Wires models and the deployments that serve them. */
export function openRegistry(
  { db, guarded, clock }: Deps,
  { samples, requestLifeMs, onChange }: RegistryOptions,
) {
  const deployments = new DeploymentService({
    store: guarded(new DeploymentStore(db)),
    clock,
    requestLifeMs,
    onChange,
  })
  return {
    models: new ModelService({ store: guarded(new ModelStore(db)), samples, clock, onChange }),
    modelCopies: new ModelCopyService(guarded(new ModelCopyStore(db)), clock),
    deployments,
    // Deployments in the words of `/api/v1`.
    scorecards: new ScorecardService(deployments, clock),
  }
}
