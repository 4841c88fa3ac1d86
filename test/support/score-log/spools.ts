import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RecordV4 } from '../../../src/log/record/record-v4.ts'
import type { SpoolReader } from '../../../src/log/spool/reader.ts'
import { Spool, type SpoolOptions } from '../../../src/log/spool/spool.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { card, plainFeature } from '../cards/cards.ts'
import { loggedModel, logRequest } from './score-records.ts'

const MODELS = [loggedModel(card([plainFeature('income')]), 'champion')]
const BATCH_RECORDS = 100
const BATCH_BYTES = 1024 * 1024

/** A directory for a test's spool, and how to remove it. */
export function newSpoolDir(): { readonly path: string; remove(): void } {
  const parent = mkdtempSync(join(tmpdir(), 'scoreline-spool-'))
  const remove = () => rmSync(parent, { recursive: true, force: true })
  return { path: join(parent, 'spool'), remove }
}

let opened = 0

export function openSpool(directory: string, options: Partial<SpoolOptions> = {}): Promise<Spool> {
  return Spool.open({
    directory,
    name: `${String(++opened).padStart(15, '0')}-${process.pid}`,
    durability: 'process',
    bytesMax: 1024 ** 3,
    clock: systemClock,
    warn: () => undefined,
    onThrown: (error) => {
      throw error
    },
    ...options,
  })
}

/**
 * The spool as the next process finds it when this one is killed now: on the disk, without its
 * locks.
 */
export function killedCopy(directory: string): string {
  const copy = `${directory}-${Math.random()}`
  cpSync(directory, copy, { recursive: true })
  return copy
}

/** Logs a request of one applicant. */
export function log(
  spool: Spool,
  requestId: string,
  deployment: { readonly deploymentId?: string } = {},
): Promise<void> {
  return logRequest(spool, MODELS, [{ income: 1 }], { requestId, ...deployment })
}

/** Takes all that is in a spool, as the drain does. */
export async function drain(
  spool: SpoolReader,
): Promise<{ records: RecordV4[]; rejected: string[] }> {
  const records: RecordV4[] = []
  const rejected: string[] = []
  for (;;) {
    const batch = await spool.readBatch(BATCH_RECORDS, BATCH_BYTES)
    rejected.push(...batch.rejected.map(({ reason }) => reason))
    if (batch.records.length === 0) return { records, rejected }
    records.push(...batch.records)
    await spool.acknowledge(batch.token)
  }
}

export async function drainedIds(spool: SpoolReader): Promise<string[]> {
  return (await drain(spool)).records.map(({ requestId }) => requestId)
}
