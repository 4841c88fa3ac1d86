import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import type { ImportResult } from '../../schemas/import.ts'
import type { Job } from '../../schemas/jobs.ts'
import type { ImportBody } from '../cards/import/request.ts'
import type { RegisterLine } from './import-options.ts'
import { RemoteError, RemoteService } from './remote-service.ts'

/** Longer than the longest import, including the wait for earlier imports. */
const TIMEOUT_MS = 600_000
/** A longer sample goes ahead as a file: proxies and the service bound the body of a request. */
const SAMPLE_BYTES_MAX = 8_000_000
const POLL_MS = 1_000

/**
 * Sends a card to a running service, which imports, checks and registers it.
 *
 * @returns what the import answers
 * @throws RemoteError
 */
export async function registerAt(
  { url, environment, description, autoDeploy, acceptsUnreached }: RegisterLine,
  token: string,
  body: ImportBody,
): Promise<unknown> {
  const service = new RemoteService(url, token)
  const register = {
    environment,
    description,
    auto_deploy: autoDeploy,
    accept_unreached: acceptsUnreached,
  }
  const { sample, ...order } = body
  if (sample === undefined || Buffer.byteLength(sample) <= SAMPLE_BYTES_MAX) {
    return service.readJson('/v1/models/import', jsonPost({ ...body, register }))
  }
  const { id, result } = await checkFile(service, `${JSON.stringify(order)}\n`, sample)
  const { development_sample: _, ...checked } = result as Checked
  const [fault] = checked.faults
  if (fault !== undefined) {
    throw new RemoteError(`the service refuses the card: ${fault.path} ${fault.message}`)
  }
  const model = { ...register, spec: checked.spec, check_id: id }
  return { ...checked, registered: await service.readJson('/v1/models/deploy', jsonPost(model)) }
}

/** Sends a sample as a file after its order, and waits for the job that compares it. */
async function checkFile(
  service: RemoteService,
  order: string,
  sample: string,
): Promise<RemoteJob> {
  let job = (await service.readJson('/v1/models/checks', {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: new Blob([order, sample]),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) as RemoteJob
  while (job.finished_at === null) {
    await delay(POLL_MS)
    job = (await service.readPatiently(`/v1/jobs/${job.id}`, POLL_MS)) as RemoteJob
  }
  if (job.status === 'done') return job
  throw new RemoteError(`the check is ${job.status}: ${job.message ?? 'it gives no reason'}`)
}

type RemoteJob = Static<typeof Job>
type Checked = Static<typeof ImportResult> & { readonly development_sample: unknown }

function jsonPost(body: unknown): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }
}
