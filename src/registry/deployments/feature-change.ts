import { AppError } from '../../errors.ts'
import type { ChangeReader, Deployment } from './deployment.ts'

/** The change in what callers of a deployment send. */
export interface FeatureChange {
  /** Names that a model wants, or strict mode asks for, only from now on. */
  readonly added: readonly string[]
  /** Names that no model knows any more. */
  readonly removed: readonly string[]
}

/**
 * Compares the features of a deployment before and after a change.
 *
 * @returns null when callers go on as before
 */
export async function compareFeatures(
  before: Deployment,
  next: Deployment,
  read: Pick<ChangeReader, 'featureNames'>,
): Promise<FeatureChange | null> {
  const [old, present] = [modelIds(before), modelIds(next)]
  if (before.shadowMode === next.shadowMode && old.join() === present.join()) return null
  const namesByModel = await read.featureNames([...new Set([...old, ...present])])
  const namesIn = (ids: readonly string[]) =>
    new Set(ids.flatMap((id) => namesByModel.get(id) ?? []))
  const [known, wanted] = [namesIn(old), namesIn(present)]
  const asked = namesIn(answering(before))
  const askedNext = namesIn(answering(next))
  const isNew = (name: string) => !known.has(name) || (askedNext.has(name) && !asked.has(name))
  const added = [...wanted].filter(isNew)
  const removed = [...known].filter((name) => !wanted.has(name))
  return added.length + removed.length === 0 ? null : { added, removed }
}

/**
 * Refuses a change of a strict deployment that alters what its callers must send, unless whoever
 * makes it says that they will.
 *
 * @throws AppError `features_added`
 */
export function requireAccepted(
  { strictMode }: Deployment,
  features: FeatureChange | null,
  isAccepted: boolean,
): void {
  if (features === null || features.added.length === 0 || !strictMode || isAccepted) return
  const details = features.added.map((path) => ({ path, message: 'is added by this change' }))
  throw new AppError(
    'features_added',
    'the deployment is strict, and the change adds features that callers must send: let them send these first, then repeat the change with accept_features: true',
    { details },
  )
}

/** The champion, then its active challengers. */
function modelIds({ champion, challengers }: Deployment): string[] {
  const active = challengers.filter(({ isActive }) => isActive)
  return [champion.id, ...active.map(({ model }) => model.id)]
}

/** The models that strict mode asks for their features. */
function answering(deployment: Deployment): string[] {
  return deployment.shadowMode ? [deployment.champion.id] : modelIds(deployment)
}
