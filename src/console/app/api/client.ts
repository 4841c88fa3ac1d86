import createClient from 'openapi-fetch'
import type { paths } from '../../../../clients/typescript/src/openapi.ts'
import { ROOT } from './exchange.ts'
import { exchangeAsUser } from './session.ts'

/**
 * Calls the API with the types of its OpenAPI document. A call throws an `ApiError`, so read the
 * answer by `readData`.
 */
export const api = createClient<paths>({ baseUrl: ROOT, fetch: exchangeAsUser })

/** Reads the answer of a call of `api`. */
export async function readData<Data>(
  call: Promise<{ readonly data?: Data; readonly error?: unknown }>,
): Promise<NonNullable<Data>> {
  return (await call).data as NonNullable<Data>
}
