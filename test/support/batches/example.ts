import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestService } from '../start/service.ts'
import { BatchCaller } from './batches.ts'

/** The file of which the examples of batches speak. */
export const EXAMPLE_FILE = 'id,age,purpose\nA-1001,35,car\nA-1002,20,car\n'

/** What an example of batches needs: a file in the store, or a batch that has ended. */
export async function exampleBatch(
  service: TestService,
  token: string,
  { operation, slug }: { readonly operation: string; readonly slug: string },
): Promise<{ readonly job?: string }> {
  if (operation === 'batches.upload') return {}
  if (operation === 'batches.start') {
    putFile({ service, owner: token }, '2026-11/portfolio.csv', EXAMPLE_FILE)
    return {}
  }
  return { job: (await new BatchCaller(service, token).score(slug, EXAMPLE_FILE)).id }
}

interface Owned {
  readonly service: TestService
  /** Access token of the owner. */
  readonly owner: string
}

/** Puts a file into the folder of a team. */
export function putFile({ service, owner }: Owned, path: string, text: string): void {
  const file = join(service.config.dataDir, 'batches', findTeam(owner), path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** The team of an access token. */
export function findTeam(token: string): string {
  const [, payload = ''] = token.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()).team
}
