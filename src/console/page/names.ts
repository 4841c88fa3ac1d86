import { api } from './api.ts'
import type { ListedDeployment, ListedKey, ListedModel, Member } from './types.ts'

/** Names of the team's objects, by id. */
export type Names = ReadonlyMap<string, string>

/** Names of all objects and users in the audit log; only for roles that may see members. */
export async function allNames(): Promise<Names> {
  const [models, { members }, { deployments }, { keys }] = await Promise.all([
    modelNames(),
    api<{ members: readonly Member[] }>('GET', 'v1/members'),
    api<{ deployments: readonly ListedDeployment[] }>('GET', 'v1/deployments'),
    api<{ keys: readonly ListedKey[] }>('GET', 'v1/keys'),
  ])
  return new Map([
    ...models,
    ...members.map(({ id, email }) => [id, email] as const),
    ...deployments.map(({ id, name }) => [id, name] as const),
    ...keys.map(({ id, name }) => [id, name] as const),
  ])
}

/** Names and versions of the models. */
export async function modelNames(): Promise<Names> {
  const { models } = await api<{ models: readonly ListedModel[] }>('GET', 'v1/models')
  return new Map(models.map(({ id, name, version }) => [id, `${name} ${version}`]))
}
