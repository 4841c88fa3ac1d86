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
    const [, payload = ''] = token.split('.')
    const { team } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const path = join(service.config.dataDir, 'batches', team, '2026-11/portfolio.csv')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, EXAMPLE_FILE)
    return {}
  }
  return { job: (await new BatchCaller(service, token).score(slug, EXAMPLE_FILE)).id }
}
