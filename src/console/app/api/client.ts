import { type UseQueryOptions, useQuery } from '@tanstack/react-query'
import createClient from 'openapi-fetch'
import type { paths } from '../../../../clients/typescript/src/openapi.ts'
import { ROOT } from './exchange.ts'
import { exchangeAsUser } from './session.ts'

/**
 * Calls the API with the types of its OpenAPI document. A call throws an `ApiError`, so read the
 * answer by `readData`.
 */
export const api = createClient<paths>({ baseUrl: ROOT, fetch: exchangeAsUser })

export async function readData<Data>(
  call: Promise<{ readonly data?: Data; readonly error?: unknown }>,
): Promise<NonNullable<Data>> {
  return (await call).data as NonNullable<Data>
}

interface Question {
  readonly parameters: object
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': unknown } }
  }
}

/** Paths that answer a GET with JSON. */
type Path = { [Key in keyof paths]: paths[Key]['get'] extends Question ? Key : never }[keyof paths]
type Operation<Key extends Path> = paths[Key]['get'] & Question
type Loose<Fields> = {
  [Key in keyof Fields]: undefined extends Fields[Key] ? Fields[Key] | undefined : Fields[Key]
}
type Params<Key extends Path> = {
  [Part in keyof Operation<Key>['parameters']]: Loose<Operation<Key>['parameters'][Part]>
}
type Answer<Key extends Path> = Operation<Key>['responses'][200]['content']['application/json']

/** Asks a path of the API; parameters that are undefined are left out. */
export async function read<Key extends Path>(
  path: Key,
  params: Params<Key>,
  signal?: AbortSignal,
): Promise<Answer<Key>> {
  const get = api.GET as (path: Key, init: object) => Promise<{ data?: Answer<Key> }>
  return readData(get(path, { params, signal }))
}

/** Asks a path of the API, and again when a change ends the answers whose keys begin with it. */
export function useAnswer<Key extends Path, Shown = Answer<Key>>(
  path: Key,
  params: Params<Key>,
  options: Omit<UseQueryOptions<Answer<Key>, Error, Shown>, 'queryKey' | 'queryFn'> = {},
) {
  return useQuery({
    ...options,
    queryKey: [path, params],
    queryFn: ({ signal }) => read(path, params, signal),
  })
}
